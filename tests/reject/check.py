"""Programs that must not compile: the compiler refuses each, in the right words, on the user's own line.

    check.py UMBRELLA FILE... -- COMPILER [FLAG...]
    check.py --umbrella UMBRELLA COMPILER [FLAG...]    compiles weft.hpp once, for all that is done with it after
    check.py --self-test COMPILER [FLAG...]

In a FILE's comments:

    // expect: words          must be in what the compiler says; `expect-gcc:` and `expect-clang:` for one of them
    // first: words           must be in the first error of all
    ...            // <- here the one line that the error, or a note of it, must point to
    // whole: reason          the program is not tried without that line

Without the marked line the same program must compile: else it may be refused for another reason. Tried with g++ only,
since the program is the same for all.

Programs of which other words are expected are compiled together, each in a namespace of its own, as the compiler takes longer
to begin than for one of them; what does not show there as it must is looked at alone.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOGETHER = 16
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
    every = ["-ferror-limit=0"] if is_clang(command) else []
    run = subprocess.run([*command, *FLAGS, *every, "-c", "-o", "/dev/null", str(path)],
                         capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if run.returncode == 0:
        return None
    # Carets and quoted source lines are no evidence: they would find the words in the program itself.
    return "\n".join(line for line in run.stderr.splitlines() if not re.match(r"\s*\d*\s*\|", line))


class Program:
    def __init__(self, text, name, command):
        family = "-clang" if is_clang(command) else "-gcc"
        self.text, self.name = text, name
        self.first = re.findall(r"^\s*// first: *(.+?) *$", text, re.M)
        self.words = self.first + [w for which, w in EXPECT.findall(text) if which in ("", family)]
        marked = [i for i, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith(HERE)]
        self.line = marked[0] if len(marked) == 1 else 0
        self.can_be_tried_without = not is_clang(command) and not re.search(r"^\s*// whole: ", text, re.M)

    def is_well_made(self):
        return bool(self.words) and self.line > 0

    def without(self):
        lines = self.text.splitlines()
        lines[self.line - 1] = ""
        return "\n".join(lines) + "\n"

    def faults(self, said):
        """One sentence per expectation that what the compiler said does not meet."""
        found = [f"the compiler does not say: {w}" for w in self.words if w not in said]
        errors = re.findall(r"\berror: .*", said)
        found += [f"the compiler does not say first: {w}" for w in self.first if w in said and w not in errors[0]]
        # gcc speaks of a template's frames as `file:line:column:   required from here`.
        if not re.search(rf"{re.escape(self.name)}:{self.line}:", said):
            found.append(f"the compiler does not point to line {self.line}")
        return found

    def shares_words(self, other):
        return any(a in b or b in a for a in self.words for b in other.words)


def faults_alone(program, command):
    if not program.is_well_made():
        return ["a reject test needs `// expect: words` and one line that ends in `// <- here`"]
    with tempfile.TemporaryDirectory() as folder:
        said = refusal(command, program.text, program.name, folder)
        if said is None:
            return ["it compiles, and must not"]
        found = program.faults(said)
        if found:
            return found + [said[:6000]]
        if program.can_be_tried_without:
            other = refusal(command, program.without(), program.name, folder)
            if other is not None:
                return [f"without line {program.line} it must compile, and does not:", other[:6000]]
    return []


def in_one_text(parts):
    """Several programs as one, of (name, text): what they include, then each in a namespace."""
    includes = sorted({line for _, text in parts for line in text.splitlines() if line.startswith("#include")})
    text = "".join(line + "\n" for line in includes)
    for number, (name, part) in enumerate(parts):
        own = "\n".join("" if line.startswith("#include") else line for line in part.splitlines())
        text += f'namespace program_{number} {{\n#line 1 "{name}"\n{own}\n}}\n'
    return text


def look_alone(programs, command):
    """Those of the programs that do not show in one text as they must."""
    with tempfile.TemporaryDirectory() as folder:
        said = refusal(command, in_one_text([(p.name, p.text) for p in programs]), "together.cpp", folder) or ""
        alone = [p for p in programs if p.faults(said)]
        others = [p for p in programs if p not in alone and p.can_be_tried_without]
        if others and refusal(command, in_one_text([(p.name, p.without()) for p in others]), "together.cpp", folder):
            alone += others
    return alone


def faults(texts, command):
    """Of (name, text) pairs: by name, one sentence per expectation that is not met."""
    groups = []
    for name, text in texts:
        program = Program(text, name, command)
        fits = [g for g in groups if program.is_well_made() and not program.first and not g[0].first and len(g) < TOGETHER and g[0].is_well_made()
                and not any(program.shares_words(other) for other in g)]
        if fits:
            fits[0].append(program)
        else:
            groups.append([program])
    found = {}
    for group in groups:
        for program in look_alone(group, command) if len(group) > 1 else group:
            wrong = faults_alone(program, command)
            if wrong:
                found[program.name] = wrong
    return found


def self_test(command):
    """The harness itself: each program with the first words of what must be said of it; "" for nothing."""
    bad = 'static_assert(sizeof(int) == 1, "an int has %s bytes");'
    cases = [
        (f"// expect: an int has four bytes\n{bad % 'four'}  {HERE}\n", ""),
        (f"// expect: an int\nint x;  {HERE}\n", "it compiles"),
        (f"// first: an int has four bytes\n// whole: two\n{bad % 'four'}  {HERE}\n{bad % 'no'}\n", ""),
        (f"// first: an int has four bytes\n// whole: two\n{bad % 'no'}\n{bad % 'four'}  {HERE}\n",
         "the compiler does not say first: an int has four"),
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
    # Alone, and beside one that is refused as it must be.
    beside = ("beside.cpp", f"// expect: a char has nine\nstatic_assert(sizeof(char) == 9, \"a char has nine\");  {HERE}\n")
    for others in ([], [beside], [beside, ("two.cpp", beside[1].replace("nine", "ten"))]):
        for text, expected in cases:
            found = faults([*others, ("case.cpp", text)], command)
            first = found.get("case.cpp", [""])[0]
            if (expected == "") != (first == "") or not first.startswith(expected) or len(found) != (expected != ""):
                wrong.append(f"{text}-- expected '{expected}', got {found}")
    # The words of the one do not count for the other.
    silent = ("silent.cpp", f"// expect: a char\nint x;  {HERE}\n")
    if list(faults([beside, silent], command)) != ["silent.cpp"]:
        wrong.append("a program that compiles is not seen beside one that is refused")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        result = self_test(sys.argv[2:])
    elif sys.argv[1] == "--umbrella":
        sys.exit(compile_umbrella(sys.argv[2], sys.argv[3:]))
    else:
        end = sys.argv.index("--")
        umbrella, files, command = sys.argv[1], [pathlib.Path(f) for f in sys.argv[2:end]], sys.argv[end + 1:]
        found = faults([(f.name, f.read_text()) for f in files], with_umbrella(umbrella, command))
        result = [f"{name}: " + "\n".join(wrong) for name, wrong in found.items()]
        print(f"{len(files) - len(found)} of {len(files)} programs are refused as they must be")
    print("\n".join(result))
    sys.exit(1 if result else 0)
