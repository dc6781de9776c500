#!/usr/bin/env bash
# Installs what is missing, builds examples/03_schedules.cpp as a user would, and runs it.
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

want_to_build
install_missing
cd "$root"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_BENCH=OFF &&
  cmake --build build/demo --target 03_schedules; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
build/demo/examples/03_schedules
