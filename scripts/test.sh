#!/usr/bin/env bash
# Installs what is missing, builds the tests and runs them.
#
#   scripts/test.sh          with the compiler and the LLVM that are there
#   scripts/test.sh --all    with g++, its sanitizers, clang 19 and 22, LLVM 19 and 22
#   --long                   also what takes minutes: tests labelled long, CUDA text under the thread sanitizer, and a fresh machine (fresh.sh)
#
# Lines that begin with [skip] say what could not be tested here, and why. With CI=true it is a failure when
# what was missing can be installed, as LLVM.
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

all=0 long=0
for argument in "$@"; do
  case $argument in
    --all) all=1 ;;
    --long) long=1 ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

want_to_build
want doctest-dev "/usr/include/doctest/doctest.h" "/usr/local/include/doctest/doctest.h"
want python3 python3
want pkg-config pkg-config
want libmpfr-dev "/usr/include/mpfr.h" "/usr/local/include/mpfr.h"
want libeigen3-dev "/usr/include/eigen3/Eigen/Core"
want libtbb-dev "/usr/include/oneapi/tbb/parallel_for.h"
want_nvrtc
if ((long)); then
  want python3-venv "/usr/lib/python3*/ensurepip/__init__.py" # NumPy from PyPI
  want python3-torch "/usr/lib/python3/dist-packages/torch/__init__.py"
fi
if ((all || long)); then
  want clang-19 clang++-19
  want libclang-rt-19-dev "/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan-*.a"
fi
if ((all)); then
  want doxygen doxygen
  want gdb gdb
  want g++ g++
  want g++-aarch64-linux-gnu aarch64-linux-gnu-g++
  want qemu-user qemu-aarch64
  want clang-22 clang++-22
  for version in 19 22; do
    mapfile -t libraries < <(llvm_library $version)
    want libllvm$version "${libraries[@]}"
    want llvm-$version-dev "/usr/lib/llvm-$version/include/llvm-c/Core.h"
  done
fi
install_missing
get_nvrtc
cd "$root"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# build PRESET "TARGETS": says only what went wrong.
build() {
  local preset=$1 targets start=$SECONDS
  read -ra targets <<<"$2"
  if ! { cmake --preset "$preset" -DWEFT_SANITIZE_OPS=$((long)) -DWEFT_TEST_ALL_GPUS=$((long)) -DWEFT_TESTS_TOGETHER=$((all && !long)) && cmake --build --preset "$preset" -j "$jobs" --target "${targets[@]}"; } \
    >"$results/$preset.build" 2>&1; then
    echo "[fail] $preset: does not build"
    # Ninja stops at the first failure; what matters begins there.
    sed -n '/^FAILED\|^CMake Error/,$p' "$results/$preset.build" | sed -n 1,60p
    touch "$results/$preset.broken"
  fi
  echo $((SECONDS - start)) >"$results/$preset.built"
}
# run PRESET CTEST_ARGUMENT...: one line when all is well, else what went wrong.
run() {
  local preset=$1 start=$SECONDS
  shift
  if [[ -e $results/$preset.broken ]]; then return; fi
  ((long)) || set -- "$@" -LE long
  ctest --test-dir "build/$preset" -j "$jobs" --no-tests=error --output-on-failure --test-output-size-passed 100000 \
    --output-junit "$results/$preset.xml" "$@" >"$results/$preset.log" 2>&1 || true
  if [[ ! -e $results/$preset.xml ]]; then
    echo "[fail] $preset: no test was run"
    tail -n 5 "$results/$preset.log"
    touch "$results/$preset.broken"
    return
  fi
  echo "$preset: built in $(<"$results/$preset.built") s, tested in $((SECONDS - start)) s"
}
# The others are built while tests run, in the time that those leave: those of the first one while the rest is still built.
build_others() {
  if ((all)); then
    build asan weft-tests
    touch "$results/asan.ready"
  fi
  build tsan weft-tests
  if ! ((all)); then return; fi
  for version in 19 22; do build clang$version "weft-headers weft-examples"; done
}

build dev all
if ((all || long)); then
  build_others >"$results/others" &
  others=$!
  renice -n 10 "$others" >/dev/null
fi
run dev
if ((all || long)); then
  if ((all)); then
    while [[ ! -e $results/asan.ready ]] && kill -0 "$others" 2>/dev/null; do sleep 1; done
    # The variants with a chosen LLVM add nothing here: LLVM is not instrumented.
    run asan -L unit -E '\.llvm[0-9]+$'
  fi
  wait
  cat "$results/others"
  run tsan -L threads -E '\.llvm[0-9]+$'
fi
if ((all)); then
  for version in 19 22; do run clang$version -L 'headers|examples' -E '^headers/alone$'; done # which g++ has said
fi
if ((long)); then
  code=0
  scripts/fresh.sh || code=$?
  ((code == 0 || code == 77)) || touch "$results/fresh.broken"
fi
python3 scripts/summary.py "$results"
