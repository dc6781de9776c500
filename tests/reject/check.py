"""A program that must not compile: the compiler refuses it, in the right words, on the user's own line.

    check.py FILE UMBRELLA COMPILER [FLAG...]
    check.py --umbrella UMBRELLA COMPILER [FLAG...]    compiles weft.hpp once, for all that is done with it after
    check.py --self-test COMPILER [FLAG...]

In FILE's comments:

    // expect: words          must be in what the compiler says; `expect-gcc:` and `expect-clang:` for one of them
    ...            // <- here the one line that the error, or a note of it, must point to
    // whole: reason          the program is not tried without that line

Without the marked line the same program must compile: else it may be refused for another reason. Tried with g++ only,
since the program is the same for all.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXPECT = re.compile(r"^\s*// expect(-gcc|-clang)?: *(.+?) *$", re.M)
HERE = "// <- here"


FLAGS = ["-std=c++20", "-O0"]


def is_clang(command):
    return "clang" in pathlib.Path(command[0]).name


def compile_umbrella(folder, command):
    """Parsing weft takes longer than what these programs add to it, and each is compiled twice."""
    where = pathlib.Path(folder, "weft")
    where.mkdir(parents=True, exist_ok=True)
    source = where / "umbrella.hpp"
    source.write_text("#include <weft/weft.hpp>\n")
    made = where / "weft.hpp.gch"  # where g++ looks for it
    new = made.with_suffix(".new")
    run = subprocess.run([*command, *FLAGS, "-x", "c++-header", str(source), "-o", str(new)])
    if run.returncode == 0:
        new.replace(made)
    return run.returncode


def with_umbrella(folder, command):
    made = str(pathlib.Path(folder, "weft", "weft.hpp.gch"))
    use = ["-include-pch", made] if is_clang(command) else ["-I", folder]
    return [command[0], *use, *command[1:]]


def refusal(command, text, name, folder):
    """What the compiler says of `text`; None when it accepts it. Paths in the answer end in `name`."""
    path = pathlib.Path(folder, name)
    path.write_text(text)
    # Not -fsyntax-only: functions that are only generated are then not looked at by every compiler.
    run = subprocess.run([*command, *FLAGS, "-c", "-o", "/dev/null", str(path)],
                         capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return None if run.returncode == 0 else run.stderr


def faults(text, name, command):
    """One sentence per expectation that is not met."""
    family = "-clang" if is_clang(command) else "-gcc"
    words = [w for which, w in EXPECT.findall(text) if which in ("", family)]
    marked = [i for i, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith(HERE)]
    if not words or len(marked) != 1:
        return ["a reject test needs `// expect: words` and one line that ends in `// <- here`"]
    with tempfile.TemporaryDirectory() as folder:
        said = refusal(command, text, name, folder)
        if said is None:
            return ["it compiles, and must not"]
        # Carets and quoted source lines are no evidence: they would find the words in the program itself.
        said = "\n".join(line for line in said.splitlines() if not re.match(r"\s*\d*\s*\|", line))
        found = [f"the compiler does not say: {w}" for w in words if w not in said]
        # gcc speaks of a template's frames as `file:line:column:   required from here`.
        if not re.search(rf"{re.escape(name)}:{marked[0]}:", said):
            found.append(f"the compiler does not point to line {marked[0]}")
        if found:
            return found + [said[:6000]]
        if not is_clang(command) and not re.search(r"^\s*// whole: ", text, re.M):
            lines = text.splitlines()
            lines[marked[0] - 1] = ""
            other = refusal(command, "\n".join(lines) + "\n", name, folder)
            if other is not None:
                return [f"without line {marked[0]} it must compile, and does not:", other[:6000]]
    return []


def self_test(command):
    """The harness itself: each program with the first words of what must be said of it; "" for nothing."""
    bad = 'static_assert(sizeof(int) == 1, "an int has %s bytes");'
    cases = [
        (f"// expect: an int has four bytes\n{bad % 'four'}  {HERE}\n", ""),
        (f"// expect: an int\nint x;  {HERE}\n", "it compiles"),
        (f"// expect: an int has five bytes\n{bad % 'four'}  {HERE}\n", "the compiler does not say"),
        (f"// expect: an int has four bytes\nint x;  {HERE}\n{bad % 'four'}\n",
         "the compiler does not point to line 2"),
        (f"// expect: an int has four bytes\n{bad % 'four'}  {HERE}\nint x = y;\n",
         "" if is_clang(command) else "without line 2"),
        (f"// expect: an int has four bytes\n// whole: shown\n{bad % 'four'}  {HERE}\nint x = y;\n", ""),
        # The words stand in the program, but the compiler says something else.
        (f"// expect: an int has four bytes\nint an_int = y; /* an int has four bytes */  {HERE}\n",
         "the compiler does not say"),
        ("// expect: an int\nint x = y;\n", "a reject test needs"),
        (f"int x = y;  {HERE}\n", "a reject test needs"),
        # Words for both families: whichever compiler this is, one of the two is wrong.
        (f"// expect-gcc: an int has {'five' if 'clang' not in command[0] else 'four'} bytes\n"
         f"// expect-clang: an int has {'five' if 'clang' in command[0] else 'four'} bytes\n{bad % 'four'}  {HERE}\n",
         "the compiler does not say"),
        # A template's error stands elsewhere, the note on the user's line.
        (f"// expect: an int has four bytes\ntemplate <class T> struct s {{ static_assert(sizeof(T) == 1, "
         f"\"an int has four bytes\"); }};\ns<int> x;  {HERE}\n", ""),
    ]
    wrong = []
    for text, expected in cases:
        found = faults(text, "case.cpp", command)
        first = found[0] if found else ""
        if (expected == "") != (first == "") or not first.startswith(expected):
            wrong.append(f"{text}-- expected '{expected}', got {found}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        result = self_test(sys.argv[2:])
    elif sys.argv[1] == "--umbrella":
        sys.exit(compile_umbrella(sys.argv[2], sys.argv[3:]))
    else:
        file, umbrella, *command = sys.argv[1:]
        path = pathlib.Path(file)
        result = faults(path.read_text(), path.name, with_umbrella(umbrella, command))
    print("\n".join(result) or "refused as it must be")
    sys.exit(1 if result else 0)
