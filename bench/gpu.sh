#!/bin/sh
# A GPU on trial, by one command: builds bench/gpu/, tests each operation alone, then the corpus, then measures. No LLVM, no network.
#
#     bench/gpu.sh [--hana FOLDER] [--build FOLDER] [--build-only] [--tests] [--small] [--json FILE] [--seconds N]
#
# It needs a C++20 compiler ($CXX, else g++ or clang++), Boost.Hana's headers (--hana or $WEFT_HANA: the folder that has boost/hana.hpp; /usr/include
# is looked at), the driver, and NVRTC 12 or 13; cuBLAS is the peer where it is found, and PyTorch where python3 imports it. After --seconds (450, from
# the first line on, so that the whole takes less than 8 minutes) nothing is measured any more. Some three minutes of these go to building with two cores.
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
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
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
  if (char const* const file = std::getenv("WEFT_NVRTC")) return dlopen(file, RTLD_NOW) ? 0 : (std::printf("WEFT_NVRTC names what cannot be loaded: %s\n", file), 1);
  for (char const* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (dlopen(name, RTLD_NOW)) return 0;
  return std::puts("there is no NVRTC (libnvrtc.so.12 or .13) on LD_LIBRARY_PATH, where CUDA installs it, or of pip: pip install nvidia-cuda-nvrtc-cu12"), 1;
}
CPP
"$CXX" "$build/there.cpp" -ldl -o "$build/there" || fail "$CXX does not compile"
if [ $only_build = no ]; then
  why=$("$build/there") || fail "$why; --build-only builds all the same"
fi

for folder in $hana /usr/include /usr/local/include; do
  [ -e "$folder/boost/hana.hpp" ] && hana=$folder && break
done
[ -e "$hana/boost/hana.hpp" ] || fail "no Boost.Hana: give the folder that has boost/hana.hpp by --hana, or as WEFT_HANA"
include="-I$root/include -I$root/tests -I$root/bench/gpu"
[ "$hana" = /usr/include ] || include="$include -isystem $hana"
flags="-std=c++20 -O1 -DWEFT_COMPILED=1 -DWEFT_TESTS_DIR=\"$root/tests\" $include"

echo "building in $build with $CXX"
echo '#include "weft/impl.hpp"' > "$build/library.cpp"
# shellcheck disable=SC2086
"$CXX" $flags -c "$build/library.cpp" -o "$build/library.o" &
library=$!
# shellcheck disable=SC2086
"$CXX" $flags -c "$root/bench/gpu/main.cpp" -o "$build/main.o" || { kill $library; fail "bench/gpu/main.cpp does not compile"; }
wait $library || fail "the library does not compile"
"$CXX" "$build/main.o" "$build/library.o" -ldl -lpthread -o "$build/gpu" || fail "the program does not link"
echo "built in $(($(date +%s) - began)) s"
[ $only_build = no ] || exit 0

peers=no
[ $tests = yes ] || [ $small = yes ] || ! python3 -c "import torch" 2> /dev/null || peers=yes
# What PyTorch takes is measured in the last 60 seconds.
here=$(left)
[ $peers = no ] || here=$((here - 60))
status=0
# shellcheck disable=SC2086
"$build/gpu" $pass --json "$json" --seconds "$here" || status=$?
if [ $peers = yes ]; then
  python3 "$root/bench/gpu_peers.py" "$json" --seconds "$(left)" || echo "bench/gpu.sh: no figures of PyTorch"
fi
exit $status
