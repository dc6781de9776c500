"""Compiles every header of weft alone, in a program of one line.

    alone.py INCLUDE header_only|compiled COMPILER [FLAG...]

A header that only works after another one was included fails here, on every compiler that the tests know.
"""

import concurrent.futures
import pathlib
import subprocess
import sys

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()


def main(include, mode, *compiler):
    headers = sorted(p.relative_to(include).as_posix() for p in pathlib.Path(include, "weft").rglob("*.hpp"))
    # All bodies belong to one TU by design; the library itself is the test of it.
    headers.remove("weft/impl.hpp")
    flags = ["-std=c++20", "-fsyntax-only", *WARNINGS, "-I", include]
    if mode == "compiled":
        flags.append("-DWEFT_COMPILED=1")

    def compile_alone(header):
        return subprocess.run([*compiler, *flags, "-x", "c++", "-"], input=f'#include "{header}"\n',
                              capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for header, run in zip(headers, pool.map(compile_alone, headers)):
            if run.returncode != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{run.stderr[:4000]}")
    print(f"{len(headers)} headers, {failed} failed")
    return 0 if headers and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
