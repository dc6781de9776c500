# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: what they need of the machine, by name of Debian package.
#
#   want PACKAGE PROBE...   notes PACKAGE as missing unless one of PROBE is there: a command, or a path pattern
#   install_missing         installs what was noted; calls no package manager when that is nothing
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
missing=()

want() {
  local package=$1 probe
  shift
  for probe in "$@"; do
    if [[ $probe == /* ]] && compgen -G "$probe" >/dev/null; then return; fi
    if [[ $probe != /* ]] && command -v "$probe" >/dev/null; then return; fi
  done
  missing+=("$package")
}

install_missing() {
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    echo "missing here, by their names in Debian 12: ${missing[*]}" >&2
    return 1
  fi
  local sudo=() log
  ((EUID == 0)) || sudo=(sudo)
  log=$(mktemp)
  echo "installing ${missing[*]}"
  if ! { "${sudo[@]}" apt-get update &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  missing=()
}

# A path pattern for each place where Debian and others put version $1 of LLVM.
llvm_library() {
  printf '%s\n' "/usr/lib/*/libLLVM.so.$1.*" "/usr/lib/llvm-$1/lib/libLLVM.so*" "/usr/lib64/libLLVM.so.$1.*"
}

# What any program that uses weft takes: a compiler, CMake, Boost.Hana, and at run time LLVM in any version from 19 on.
want_to_build() {
  want g++ "${CXX:-g++}"
  want libc6-dev "/usr/include/stdlib.h"
  want cmake cmake
  want ninja-build ninja
  want libboost1.81-dev "/usr/include/boost/hana/tuple.hpp" "/usr/local/include/boost/hana/tuple.hpp"
  local libraries
  mapfile -t libraries < <(for version in 19 20 21 22; do llvm_library $version; done)
  want libllvm19 "${libraries[@]}"
}
