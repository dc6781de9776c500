"""Compiles every header of weft alone, in a program of one line, and all of them together in one.

    alone.py INCLUDE COMPILER [FLAG...]
    alone.py --self-test COMPILER [FLAG...]

A header that only works after another one was included fails here, and one that does not work after another one, on every
compiler that the tests know.

What a header includes in front of its first line of its own is there by then in any case. So headers that begin with the same
large one share it precompiled, which takes a third of the time; that one is compiled alone for them.
"""

import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
# What these cost: a header of the standard library, in bytes of weft's; a precompiled one, to be written and read, in parses of it.
FOREIGN, WRITTEN, READ = 20_000, 2, 0.2


class Tree:
    """Of each header: what it includes first, what comes with it, and about what it costs to compile."""

    def __init__(self, include):
        self.text = {p.relative_to(include).as_posix(): p.read_text() for p in pathlib.Path(include).rglob("weft/**/*.?pp")}
        self.headers = sorted(h for h in self.text if h.endswith(".hpp"))
        self.all = {}

    def comes_with(self, header):
        if header not in self.all:
            self.all[header] = {header}  # of a circle: each once
            for other in re.findall(r'^\s*#\s*include "(weft/[^"]+)"', self.text.get(header, ""), re.M):
                self.all[header] |= self.comes_with(other)
        return self.all[header]

    def comes_first(self, header):
        """All that was read before the header's first line that is neither an #include nor a comment."""
        found = set()
        for line in self.text[header].splitlines():
            if line.startswith('#include "weft/'):
                found |= self.comes_with(line.split('"')[1])
            elif line and not line.startswith(("//", "#pragma once", "#include ")):
                break
        return {h for h in found if h.endswith(".hpp")} - {header}

    def cost(self, header):
        texts = [self.text.get(h, "") for h in self.comes_with(header)]
        return sum(map(len, texts)) + FOREIGN * len({f for text in texts for f in re.findall(r"^#include (<.*>)", text, re.M)})


def families(tree, headers):
    """{precompiled header: those that are compiled behind it}; behind None those that begin with none that is worth it."""
    first = {h: tree.comes_first(h) & set(headers) for h in headers}
    cost = {h: tree.cost(h) for h in headers}
    chosen, best = set(), {h: (None, 0) for h in headers}

    def gain(base):
        return (1 - READ) * cost[base]

    def saved(base):
        return sum(max(0, gain(base) - best[h][1]) for h in headers if base in first[h]) - WRITTEN * cost[base]

    while (base := max(headers, key=saved)) not in chosen and saved(base) > 0:
        chosen.add(base)
        for h in headers:
            if base in first[h] and gain(base) > best[h][1]:
                best[h] = (base, gain(base))
    found = collections.defaultdict(list)
    for h in headers:
        if h not in chosen:
            found[best[h][0]].append(h)
    for base in chosen - set(found):  # whose headers are behind better ones by now
        found[None].append(base)
    return found


class Compiler:
    def __init__(self, include, compiler):
        self.is_clang = "clang" in pathlib.Path(compiler[0]).name
        self.command = [*compiler, "-std=c++20", *WARNINGS, "-I", include]

    def faults(self, program, behind=None):
        """What the compiler says of a program of these headers, behind a precompiled one; "" when it is well."""
        use = [] if behind is None else ["-include-pch", f"{behind}.gch"] if self.is_clang else ["-Winvalid-pch", "-include", behind]
        run = subprocess.run([*self.command, *use, "-fsyntax-only", "-x", "c++", "-"], input="".join(f'#include "{h}"\n' for h in program),
                             capture_output=True, text=True)
        return "" if run.returncode == 0 else run.stderr or "it does not compile"

    def precompile(self, header, folder):
        """Where it is, and what the compiler says of it, alone."""
        source = pathlib.Path(folder, "first.hpp")
        source.write_text(f'#include "{header}"\n')
        run = subprocess.run([*self.command, "-x", "c++-header", source, "-o", f"{source}.gch"], capture_output=True, text=True)
        return source, "" if run.returncode == 0 else run.stderr or "it does not compile"


def faults(include, compiler, without=()):
    """Of the headers in a folder: how many, and by name what the compiler says of each that is not well."""
    tree, compiler = Tree(include), Compiler(include, compiler)
    headers = [h for h in tree.headers if h not in without]
    found = {}

    def alone(header, behind=None):
        if said := compiler.faults([header], behind):
            found[f"{header} does not compile alone"] = said

    def family(base, others):
        with tempfile.TemporaryDirectory() as folder:
            behind, said = compiler.precompile(base, folder)
            if said:
                found[f"{base} does not compile alone"] = said
            for header in others:
                alone(header, None if said else behind)

    def together(order, listed):
        if said := compiler.faults(listed):
            found[f"the headers in {order} of their names do not compile together"] = said

    groups = families(tree, headers)
    singles = groups.pop(None, [])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(together, "the order", headers), pool.submit(together, "the reverse order", headers[::-1])]
        jobs += [pool.submit(family, base, others) for base, others in sorted(groups.items(), key=lambda g: -len(g[1]))]
        jobs += [pool.submit(alone, header) for header in singles]
        for job in jobs:
            job.result()
    return len(headers), found


def self_test(compiler):
    """One sentence per answer that is wrong."""
    large = "inline int large() { return 1; }\n" + "// what makes it worth the while\n" * 20_000
    users = {f"user_{i}": '#pragma once\n#include "weft/large.hpp"\ninline int user() { return large(); }\n' for i in range(5)}
    cases = [
        ({}, []),
        # What it needs comes with nothing that it includes.
        ({"user_1": '#pragma once\n#include "weft/large.hpp"\ninline int user() { return other(); }\n', "other": "#pragma once\ninline int other() { return 1; }\n"},
         ["user_1"]),
        # What it needs is included too late.
        ({"user_1": '#pragma once\ninline int user() { return large(); }\n#include "weft/large.hpp"\n'}, ["user_1"]),
        ({"user_1": '#pragma once\n#include "weft/late.hpp"\ninline int user() { return large(); }\n',
          "late": '#pragma once\ninline int late() { return large(); }\n#include "weft/large.hpp"\n'}, ["late"]),  # and not again in all that include it
        # The large one itself, which its users then are compiled without.
        ({"large": "#pragma once\n" + large + "inline int x = y;\n"}, ["large", *sorted(users)]),
        # A warning.
        ({"user_1": '#pragma once\n#include "weft/large.hpp"\ninline int user(int a) { int b = large(); return b; }\n'}, ["user_1"]),
    ]
    wrong = []
    for change, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "weft").mkdir()
            for name, text in ({"large": "#pragma once\n" + large} | users | change).items():
                pathlib.Path(folder, "weft", f"{name}.hpp").write_text(text.replace("user()", f"{name}()").replace("user(int", f"{name}(int"))
            if "weft/large.hpp" not in families(tree := Tree(folder), tree.headers):
                wrong.append("what headers begin with is not precompiled")
            _, found = faults(folder, compiler)
            alone = sorted(k.split(".")[0].split("/")[1] for k in found if "alone" in k)
            if alone != expected:
                wrong.append(f"{change}: expected {expected}, got {found}")
    return wrong


def main(include, *compiler):
    # All bodies belong to one TU by design; the library itself is the test of it. The other is for programs that bring MPI: tests/mpi
    count, found = faults(include, compiler, {"weft/impl.hpp", "weft/tune/mpi.hpp"})
    for fault, said in found.items():
        print(f"{fault}:\n{said[:4000]}")
    print(f"{count} headers, alone and together: {len(found)} programs failed")
    return 0 if count and not found else 1


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        result = self_test(sys.argv[2:])
        print("\n".join(result) or "all in order")
        sys.exit(1 if result else 0)
    sys.exit(main(*sys.argv[1:]))
