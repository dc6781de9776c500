"""Only macros that begin with WEFT_ are left behind by `#include <weft/weft.hpp>`.

    macros.py INCLUDE COMPILER [FLAG...]

Compares the macros after weft.hpp with those after just the foreign headers that weft's headers name.
"""

import pathlib
import re
import subprocess
import sys


def macros(compiler, include, text):
    run = subprocess.run([*compiler, "-std=c++20", "-E", "-dM", "-I", include, "-x", "c++", "-"],
                         input=text, capture_output=True, text=True, check=True)
    return dict(re.match(r"#define (\w+)(.*)", line).groups() for line in run.stdout.splitlines())


def main(include, *compiler):
    foreign = set()
    for path in pathlib.Path(include, "weft").rglob("*.[hi]pp"):
        foreign.update(re.findall(r"^\s*#\s*include\s*(<(?!weft/)[^>]+>)", path.read_text(), re.M))
    # __has_include: some stand behind a condition.
    before = "".join(f"#if __has_include({h})\n#include {h}\n#endif\n" for h in sorted(foreign))
    allowed = macros(compiler, include, before)
    after = macros(compiler, include, before + "#include <weft/weft.hpp>\n")
    left = [name for name in after if name not in allowed]
    wrong = [name for name in left if not name.startswith("WEFT_")]
    changed = [name for name in allowed if after.get(name) != allowed[name]]
    for name in wrong:
        print(f"weft.hpp leaves a macro behind: {name}")
    for name in changed:
        print(f"weft.hpp changes a macro: {name}")
    print(f"{len(left)} macros of weft's, {len(wrong) + len(changed)} wrong")
    # None at all would mean that nothing was looked at: config.hpp defines some.
    return 0 if left and not wrong and not changed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
