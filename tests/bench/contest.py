#!/usr/bin/env python3
"""Builds the harness of weft-bench --peers with made-up peers, runs it and looks at what it prints.

    contest.py compiler [flags]
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


def main(compiler):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "contest")
        sources = [os.path.join(HERE, "contest.cpp"), *(os.path.join(TREE, "bench", n) for n in ("harness.cpp", "peers/contest.cpp"))]
        subprocess.run([*compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-I" + os.path.join(TREE, "include"), *sources,
                        "-ldl", "-lpthread", "-o", program], check=True)
        ran = subprocess.run([program], capture_output=True, text=True)
    out = ran.stdout
    assert ran.returncode == 0, out + ran.stderr
    assert "row c 1T: WRONG RESULT: weft: element 0 is 2, should be 1" in ran.stderr, ran.stderr

    def row(*words):
        found = [line for line in out.splitlines() if all(w in line for w in words)]
        assert found, f"no row of {words}\n{out}"
        return found[0]

    assert "PASS" in row("row a 1T", "weft ", ">= 2x"), out  # by plain weights
    assert "MISS" in row("row a 1T", "weft, constant", ">= 0.9x"), out  # by packed ones
    assert "MISS" in row("row a 1T", ">= 1000x", "over peer"), out
    assert "PASS" in row("row a 1T", ">= 0.99x, as far as seen", "over weft, 1 thread"), out
    assert "MISS" in row("row b 2T", ">= 0.99x, as far as seen", "over peer"), out
    assert "MISS" in row("geomean: family 2T", ">= 1x", "of 1"), out
    assert out.count("geomean: family 2T") == 1, out  # not where a part of the rows was asked for
    assert "MISS" in row("geomean: family, packed 1T", ">= 1x", "of 1"), out
    assert not re.search(r"geomean: family 1T", out), out  # no mean is asked for there
    assert "not asked for" not in out, out
    assert re.search(r"\| row a, packed \| 1 \|.*\*\*0\.\d\d\*\* \| 0\.90 \|", out), out
    assert re.search(r"\| family \| 2 \| \*\*0\.\d\d\*\* \| 1\.00 \| 1 \|", out), out


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
