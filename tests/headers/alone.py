"""Compiles every header of weft alone, in a program of one line, and all of them together in one.

    alone.py INCLUDE COMPILER [FLAG...]

A header that only works after another one was included fails here, and one that does not work after another one, on every
compiler that the tests know.
"""

import concurrent.futures
import pathlib
import subprocess
import sys

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()


def main(include, *compiler):
    headers = sorted(p.relative_to(include).as_posix() for p in pathlib.Path(include, "weft").rglob("*.hpp"))
    # All bodies belong to one TU by design; the library itself is the test of it.
    headers.remove("weft/impl.hpp")
    headers.remove("weft/tune/mpi.hpp")  # for programs that bring MPI: tests/mpi
    flags = ["-std=c++20", "-fsyntax-only", *WARNINGS, "-I", include]

    def compile_program(program):
        return subprocess.run([*compiler, *flags, "-x", "c++", "-"], input="".join(f'#include "{h}"\n' for h in program[1]),
                              capture_output=True, text=True)

    programs = [("the headers in the order of their names do not compile together", headers),
                ("the headers in the reverse order of their names do not compile together", headers[::-1])]
    programs += [(f"{header} does not compile alone", [header]) for header in headers]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (fault, _), run in zip(programs, pool.map(compile_program, programs)):
            if run.returncode != 0:
                failed += 1
                print(f"{fault}:\n{run.stderr[:4000]}")
    print(f"{len(headers)} headers, alone and together: {failed} programs failed")
    return 0 if headers and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
