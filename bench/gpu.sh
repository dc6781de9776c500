#!/bin/sh
# A GPU on trial, by one command: builds bench/gpu/, tests each operation alone, then the corpus, then measures. No LLVM, no network.
#
#     bench/gpu.sh [--hana FOLDER] [--build FOLDER] [--build-only] [--tests] [--small] [--json FILE] [--seconds N]
#
# It needs a C++20 compiler ($CXX, else g++ or clang++), Boost.Hana's headers (--hana or $WEFT_HANA: the folder that has boost/hana.hpp; /usr/include
# is looked at), the driver, and NVRTC 12 or 13; cuBLAS is the peer where it is found, and PyTorch where python3 imports it. After --seconds (450, from
# the first line on, so that the whole takes less than 8 minutes) nothing is measured any more. Some three minutes of these go to building with two cores.
# Judging and measuring are processes of their own, each ended where a kernel hangs; --tests judges all, however long that takes, and measures nothing.
set -eu
began=$(date +%s)
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/gpu hana=${WEFT_HANA:-} only_build=no pass="" tests=no small=no json=gpu.jsonl seconds=450
while [ $# -gt 0 ]; do
  case $1 in
    --hana) hana=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --build-only) only_build=yes; shift ;;
    --tests) tests=yes pass="$pass $1"; shift ;;
    --small) small=yes pass="$pass $1"; shift ;;
    --json) json=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
fail() { echo "bench/gpu.sh: $*" >&2; exit 3; }
left() { echo $((seconds - ($(date +%s) - began))); }

if [ -z "${CXX:-}" ]; then
  for c in g++ clang++ c++; do command -v $c > /dev/null 2>&1 && CXX=$c && break; done
fi
[ -n "${CXX:-}" ] || fail "no C++ compiler: set CXX to one of C++20"
mkdir -p "$build"

# NVRTC and cuBLAS where CUDA's installer or pip puts them.
for folder in /usr/local/cuda/lib64 /usr/local/cuda-*/lib64 /opt/cuda/lib64 $(python3 -c 'import os, sys
for p in sys.path:
    d = os.path.join(p, "nvidia")
    if os.path.isdir(d):
        for n in sorted(os.listdir(d)):
            if os.path.isdir(os.path.join(d, n, "lib")): print(os.path.join(d, n, "lib"))' 2> /dev/null); do
  [ -d "$folder" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}

# Said at once, not after minutes of compiling.
cat > "$build/there.cpp" <<'CPP'
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
int main() {
  char const* const named = std::getenv("WEFT_CUDA");
  void* const h = dlopen(named ? named : "libcuda.so.1", RTLD_NOW);
  if (!h) return std::puts("there is no CUDA driver on this machine (libcuda.so.1)"), 1;
  auto const init = reinterpret_cast<int (*)(unsigned)>(dlsym(h, "cuInit"));
  auto const count = reinterpret_cast<int (*)(int*)>(dlsym(h, "cuDeviceGetCount"));
  int n = 0, r = init ? init(0) : -1;
  if (r != 0 || !count || count(&n) != 0 || n == 0) return std::printf("the CUDA driver finds no GPU (cuInit: %d, devices: %d)\n", r, n), 1;
  auto const version = reinterpret_cast<int (*)(int*)>(dlsym(h, "cuDriverGetVersion"));
  int driver = 0, newer = 0;
  if (version) version(&driver);
  auto const fits = [&](void* nvrtc) {  // its code is for a driver of its CUDA, or a newer one
    int major = 0, minor = 0;
    auto const of = nvrtc ? reinterpret_cast<int (*)(int*, int*)>(dlsym(nvrtc, "nvrtcVersion")) : nullptr;
    if (!of || of(&major, &minor) != 0) return false;
    if (major > driver / 1000) newer = major;
    return newer != major;
  };
  if (char const* const file = std::getenv("WEFT_NVRTC")) {
    void* const own = dlopen(file, RTLD_NOW);
    if (!own) return std::printf("WEFT_NVRTC names what cannot be loaded: %s\n", file), 1;
    if (fits(own)) return 0;
  } else {
    for (char const* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (fits(dlopen(name, RTLD_NOW))) return 0;
  }
  if (newer) return std::printf("NVRTC %d is newer than the driver, which is of CUDA %d: install NVRTC %d, or a newer driver\n", newer, driver / 1000, driver / 1000), 1;
  return std::puts("there is no NVRTC (libnvrtc.so.12 or .13) on LD_LIBRARY_PATH, where CUDA installs it, or of pip: pip install nvidia-cuda-nvrtc-cu12"), 1;
}
CPP
"$CXX" "$build/there.cpp" -ldl -o "$build/there" || fail "$CXX does not compile"
if [ $only_build = no ]; then
  why=$("$build/there") || fail "$why; --build-only builds all the same"
fi

for folder in "$hana" /usr/include /usr/local/include; do
  [ -e "$folder/boost/hana.hpp" ] && hana=$folder && break
done
[ -e "$hana/boost/hana.hpp" ] || fail "no Boost.Hana: give the folder that has boost/hana.hpp by --hana, or as WEFT_HANA"
compile() { # ARGUMENT...
  [ "$hana" = /usr/include ] || set -- -isystem "$hana" "$@"
  "$CXX" -std=c++20 -O1 -DWEFT_COMPILED=1 "-DWEFT_TESTS_DIR=\"$root/tests\"" "-I$root/include" "-I$root/tests" "-I$root/bench/gpu" -c "$@"
}

echo "building in $build with $CXX"
echo '#include "weft/impl.hpp"' > "$build/library.cpp"
compile "$build/library.cpp" -o "$build/library.o" &
library=$!
compile "$root/bench/gpu/main.cpp" -o "$build/main.o" || { kill $library; fail "bench/gpu/main.cpp does not compile"; }
wait $library || fail "the library does not compile"
"$CXX" "$build/main.o" "$build/library.o" -ldl -lpthread -o "$build/gpu" || fail "the program does not link"
echo "built in $(($(date +%s) - began)) s"
[ $only_build = no ] || exit 0

peers=no
[ $tests = yes ] || [ $small = yes ] || ! python3 -c "import torch" 2> /dev/null || peers=yes
# What PyTorch takes is measured in the last 60 seconds.
here() { if [ $peers = yes ]; then echo $(($(left) - 60)); else left; fi; }
# Ends what takes so many seconds, as a kernel that hangs does.
within() {
  most=$1; shift
  [ "$most" -ge 1 ] || most=1
  if command -v timeout > /dev/null 2>&1; then timeout -k 5 "$most" "$@"; else "$@"; fi
}
ended() { [ "$1" -lt 124 ] || echo "bench/gpu.sh: $2 was ended, status $1: a kernel hangs, or a fault"; }
status=0
if [ $tests = yes ]; then
  # shellcheck disable=SC2086
  "$build/gpu" $pass || status=$?  # all, however long
  exit $status
fi
# In a process of its own, so that what hangs or faults there leaves the figures.
first=$(($(here) * 2 / 3))
# shellcheck disable=SC2086
within $((first + 30)) "$build/gpu" --judge $pass --seconds "$first" || status=$?
ended $status "the judging"
figures=0 rest=$(here)
# shellcheck disable=SC2086
within $((rest + 15)) "$build/gpu" --figures $pass --json "$json" --seconds "$rest" || figures=$?
ended $figures "the measuring"
[ $status -ne 0 ] || status=$figures
if [ $peers = yes ]; then
  python3 "$root/bench/gpu_peers.py" "$json" --seconds "$(left)" || echo "bench/gpu.sh: no figures of PyTorch"
fi
exit $status
