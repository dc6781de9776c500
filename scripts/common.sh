# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: what they need of the machine, by name of Debian package.
#
#   want PACKAGE PROBE...   notes PACKAGE as missing unless one of PROBE is there: a command, or a path pattern
#   install_missing         installs what was noted; calls no package manager when that is nothing
#   want_nvrtc              notes what it takes to get NVRTC; get_nvrtc, behind install_missing, gets it
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

# NVRTC of CUDA 12 or 13, which compiles for GPUs without one: the machine's, where weft looks for it, else that of PyPI, in build/nvrtc.
# Debian 12 has the one of CUDA 11. It is put on LD_LIBRARY_PATH; what a test sets there comes first.
nvrtc=$root/build/nvrtc
has_nvrtc() {
  python3 - 2>/dev/null <<'PYTHON'
import ctypes, sys
for folder in ("", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/usr/local/cuda-13/lib64/", "/usr/local/cuda-12/lib64/"):
    for version in (13, 12):
        try:
            ctypes.CDLL(f"{folder}libnvrtc.so.{version}")
            sys.exit(0)
        except OSError:
            pass
sys.exit(1)
PYTHON
}
use_nvrtc() {
  local folder
  for folder in "$nvrtc"/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib; do
    if [[ -d $folder ]]; then export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; fi
  done
}
want_nvrtc() {
  has_nvrtc || use_nvrtc
  has_nvrtc || want python3-venv "/usr/lib/python3*/ensurepip/__init__.py"
}
get_nvrtc() {
  if has_nvrtc; then return 0; fi
  local log
  log=$(mktemp)
  echo "installing NVRTC of PyPI in $nvrtc"
  if ! { python3 -m venv "$nvrtc" && "$nvrtc/bin/pip" install --quiet 'nvidia-cuda-nvrtc-cu12>=12.8'; } >"$log" 2>&1; then tail -n 3 "$log" >&2; fi
  rm -f "$log"
  use_nvrtc
  has_nvrtc || echo "no NVRTC here, and none could be had: pip install 'nvidia-cuda-nvrtc-cu12>=12.8', and its nvidia/cuda_nvrtc/lib on LD_LIBRARY_PATH" >&2
}
