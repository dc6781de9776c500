"""A program that never names weft::cuda() has none of it: no symbol, no name of a library. One that does, has; so what is looked for is there to be found.

    without_cuda.py INCLUDE COMPILER [FLAG..]
"""
import subprocess
import sys
import tempfile

include, *compiler = sys.argv[1:]
MARKS = (b"libcuda", b"libnvrtc", b"cuLaunchKernel", b"nvrtcCompileProgram", b"run_on_gpu", b"make_cuda_module")
TEXT = """#include "weft/weft.hpp"
%s
constexpr auto doubled = weft::kernel<"doubled">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return 2.0f * x(i); }); });
int main() {
  float x[4] = {}, y[4];
  doubled%s(weft::view(x, 4), weft::out(y, 4));
}
"""


def marks_of(first, on):
    """What of MARKS is in the object of a program."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/program.cpp", "w", encoding="utf-8") as file:
            file.write(TEXT % (first, on))
        subprocess.run([*compiler, "-std=c++20", "-O0", "-I", include, "-c", f"{folder}/program.cpp", "-o", f"{folder}/program.o"], check=True)
        with open(f"{folder}/program.o", "rb") as file:
            code = file.read()
    return [m for m in MARKS if m in code]


if found := marks_of("", ""):
    sys.exit(f"a program without weft::cuda() has {found}")
found = marks_of('#include "weft/cuda.hpp"', ".on(weft::cuda())")
if len(found) != len(MARKS):
    sys.exit(f"a program with weft::cuda() has only {found} of {MARKS}")
