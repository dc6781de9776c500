#!/bin/sh
# Gets newer builds of the libraries that `weft-bench --peers` compares with, as Python wheels, into a folder, and prints
# the options to configure with.
#
#   scripts/peers.sh [folder]      by default build/peers
set -e
folder=$(realpath -m "${1:-build/peers}")
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-deps halide scipy-openblas64 onednn-cpu-gomp onednn-devel-cpu-gomp
packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
libraries=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
"$folder/bin/pip" list --format=freeze | grep -iE 'halide|openblas|onednn'
echo "cmake --preset release -DHalide_ROOT=$libraries/halide -DWEFT_BENCH_OPENBLAS=$packages/scipy_openblas64/lib/libscipy_openblas64_.so -DWEFT_BENCH_ONEDNN=$folder"
