"""Every piece of C++ in README.md and docs/ is quoted from a file that is compiled: one of examples/ or tests/.

    snippets.py ROOT         checks the tree
    snippets.py --self-test  checks that each kind of fault is found

A piece is what stands between ```cpp and ```. Its lines stand in one such file in a row, all shifted by the same number
of spaces if need be; a line of `...` stands for lines left out.

Exempt are the examples in the comments of headers: they show an expression or a call among names that the reader imagines, and
do not compile as they stand.
"""

import pathlib
import re
import sys
import tempfile

# What a test prints and compares with the page itself.
PRINTED = re.compile(r"^<!-- begin (\w+) -->$.*?^<!-- end \1 -->$", re.M | re.S)
FENCE = re.compile(r"^```(?:cpp|c\+\+|C\+\+|cc)\s*\n(.*?)^```", re.M | re.S)


def lines_of(text):
    return [line.rstrip() for line in text.splitlines()]


def dedented(lines):
    """Without their common indentation, which lines of the preprocessor have no part in."""
    shift = min((len(line) - len(line.lstrip()) for line in lines if line and line.lstrip()[0] != "#"), default=0)
    return [line.lstrip() if line.lstrip().startswith("#") else line[shift:] for line in lines]


def parts(piece):
    """The runs of lines between those of `...`."""
    runs = [[]]
    for line in lines_of(piece):
        if line.strip() == "...":
            runs.append([])
        else:
            runs[-1].append(line)
    return [dedented(run) for run in runs if any(run)]


def stands_in(runs, lines):
    """Whether the runs stand in the file in this order."""
    at = 0
    for run in runs:
        while at + len(run) <= len(lines) and not (
                lines[at].strip() == run[0].strip() and dedented(lines[at:at + len(run)]) == run):
            at += 1
        if at + len(run) > len(lines):
            return False
        at += len(run)
    return True


def faults(root):
    """One sentence per piece that is quoted from nowhere."""
    root = pathlib.Path(root)
    sources = [lines_of(p.read_text()) for folder in ("examples", "tests")
               for p in sorted((root / folder).rglob("*.[ch]pp")) if "reject" not in p.parts]
    found = []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = PRINTED.sub(lambda m: "\n" * m.group(0).count("\n"), page.read_text())
        for match in FENCE.finditer(text):
            runs = parts(match.group(1))
            if not any(stands_in(runs, lines) for lines in sources):
                line = text[:match.start()].count("\n") + 2
                found.append(f"{page.relative_to(root)}:{line}: stands in no file of examples/ or tests/: "
                             f"{match.group(1).strip().splitlines()[0] if runs else '(nothing)'}")
    return found


def self_test():
    source = "int f() {\n  int a = 1;\n\n  return a;\n}\nint g();\n  while (a)\n#pragma p\n    b();\n"
    pages = [  # a page, and how many faults it has
        ("```cpp\nint a = 1;\n\nreturn a;\n```\n", 0),
        ("text\n```cpp\nint f() {\n...\n}\n```\n```sh\nls\n```\n", 0),
        ("```cpp\nint a = 1;\n```\n```cpp\nint b = 1;\n```\n", 1),
        ("```cpp\nint a = 1;\nreturn a;\n```\n", 1),
        ("```cpp\nint g();\n...\nint f() {\n```\n", 1),
        ("```cpp\nint f() {\n  int a = 1;\n```\n", 0),
        ("```cpp\nwhile (a)\n#pragma p\n  b();\n```\n", 0),
        ("```cpp\nwhile (a)\n#pragma p\nb();\n```\n", 1),
        ("```c++\n  return a;\n}\n```\n", 0),
        ("```cpp\nreturn a;\n}\n```\n", 1),
        ("<!-- begin x -->\n```cpp\nint b;\n```\n<!-- end x -->\n```cpp\nint c;\n```\n", 1),
    ]
    wrong = []
    for page, count in pages:
        with tempfile.TemporaryDirectory() as root:
            for folder in ("examples", "tests", "docs/decisions"):
                pathlib.Path(root, folder).mkdir(parents=True)
            pathlib.Path(root, "README.md").write_text("")
            pathlib.Path(root, "docs/decisions/1.md").write_text(page)
            pathlib.Path(root, "examples/1.cpp").write_text(source)
            if len(faults(root)) != count:
                wrong.append(f"{page!r}: expected {count} faults, got {faults(root)}")
    return wrong


if __name__ == "__main__":
    result = self_test() if sys.argv[1] == "--self-test" else faults(sys.argv[1])
    print("\n".join(result) or "all quoted")
    sys.exit(1 if result else 0)
