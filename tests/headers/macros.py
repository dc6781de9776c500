"""Only macros that begin with WEFT_ are left behind by weft's headers, and those of the few system headers that it names.

    macros.py INCLUDE COMPILER [FLAG...]       checks the tree, header-only
    macros.py --self-test COMPILER [FLAG...]   checks that each kind of fault is found

Nor does weft.hpp bring what stands in the folders of APART.

Compares the macros after all public headers with those after the headers of SYSTEM alone. One that is new there costs
every user what it defines: <sys/auxv.h> would bring the 3,000 macros of <elf.h>.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# What a header of weft may leave in a user's file.
SYSTEM = """
    array bit boost/hana/tuple.hpp boost/hana/unpack.hpp charconv concepts cstddef cstdint cstdio cstdlib cstring exception
    initializer_list iosfwd string string_view type_traits utility
    dirent.h dlfcn.h errno.h fcntl.h linux/futex.h malloc.h pthread.h sched.h signal.h sys/file.h sys/mman.h sys/resource.h sys/stat.h
    sys/syscall.h time.h unistd.h
""".split()
# And one of those that most programs do not include.
OPTIONAL = ("weft/tune", "weft/bench")
# What weft.hpp does not bring: text for a GPU and searches are for programs that ask for them.
APART = ("weft/codegen/cuda/", "weft/tune/")
MORE = "algorithm cmath limits memory poll.h sys/prctl.h sys/socket.h sys/statfs.h sys/wait.h".split()


def macros(compiler, include, headers):
    run = subprocess.run([*compiler, "-std=c++20", "-E", "-dM", "-I", include, "-x", "c++", "-"],
                         input="".join(f"#include <{h}>\n" for h in headers), capture_output=True, text=True, check=True)
    return dict(re.match(r"#define (\w+)(.*)", line).groups() for line in run.stdout.splitlines())


def apart(include, compiler):
    """One sentence per header of APART that weft.hpp brings, header-only or not."""
    found = []
    for mode in ([], ["-DWEFT_COMPILED=1"]):
        run = subprocess.run([*compiler, "-std=c++20", *mode, "-M", "-I", include, "-x", "c++", "-"], input="#include <weft/weft.hpp>\n",
                             capture_output=True, text=True, check=True)
        found += [f"weft.hpp brings {f}" for f in run.stdout.split() if any("/" + folder in f for folder in APART)]
    return list(dict.fromkeys(found))


def faults(include, compiler):
    """One sentence per fault, and how many macros weft has."""
    ours = sorted(p.relative_to(include).as_posix() for p in pathlib.Path(include, "weft").rglob("*.hpp"))
    for apart in ("weft/impl.hpp", "weft/tune/mpi.hpp"):  # all bodies; for programs that bring MPI
        if apart in ours:
            ours.remove(apart)
    usual = [h for h in ours if not h.startswith(OPTIONAL)]
    found, left = faults_of(include, compiler, usual, SYSTEM)
    if usual != ours:
        more, left = faults_of(include, compiler, ours, [*SYSTEM, *MORE])
        found += [f for f in more if f not in found]
    return found, left


def faults_of(include, compiler, ours, system):
    before = macros(compiler, include, system)
    # After them, so that a macro of theirs that weft changes is seen.
    after = macros(compiler, include, [*system, *ours])
    left = [name for name in after if name not in before]
    found = [f"weft leaves a macro behind: {name}" for name in left if not name.startswith("WEFT_")]
    found += [f"weft changes a macro: {name}" for name in before if after.get(name) != before[name]]
    # None at all would mean that nothing was looked at: config.hpp defines some.
    if len(found) == len(left):
        found.append("no macro of weft's was found")
    return found, len(left)


def self_test(compiler):
    wrong = []
    good = "#pragma once\n#include <cstdio>\n#define WEFT_A 1\n"
    trees = [  # a header, and words of a sentence about it
        (good, None),
        (good + "#define LEFT 1\n", "leaves a macro behind: LEFT"),
        (good + "#undef EOF\n", "changes a macro: EOF"),
        (good + "#include <sys/auxv.h>\n", "leaves a macro behind: AT_SECURE"),
        (good + "#include <elf.h>\n", "leaves a macro behind: EI_NIDENT"),
        (good + "#include <cmath>\n", "leaves a macro behind: M_PI"),
        ("#include <cstdio>\n", "no macro of weft's"),
    ]
    for text, words in trees:
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "weft").mkdir()
            pathlib.Path(root, "weft/a.hpp").write_text(text)
            found, _ = faults(root, compiler)
            if (not found) != (words is None) or (words and not any(words in f for f in found)):
                wrong.append(f"{text!r}: expected {words}, got {found[:3]}")
    for header, expected in (("weft/base/a.hpp", 0), ("weft/tune/a.hpp", 1), ("weft/codegen/cuda/a.hpp", 1)):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, header).parent.mkdir(parents=True)
            pathlib.Path(root, header).write_text("#pragma once\n")
            pathlib.Path(root, "weft/weft.hpp").write_text(f'#include "{header}"\n')
            if len(apart(root, compiler)) != expected:
                wrong.append(f"weft.hpp brings {header}: expected {expected} faults")
    return wrong


def main(*arguments):
    if arguments[0] == "--self-test":
        found = self_test(arguments[1:])
        print("\n".join(found) or "all in order")
    else:
        found, count = faults(arguments[0], arguments[1:])
        found += apart(arguments[0], arguments[1:])
        print("\n".join([*found[:50], f"{count} macros of weft's, {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
