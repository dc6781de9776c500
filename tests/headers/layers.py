"""A folder includes only itself and what weft.hpp names before it; weft.hpp is the order.

    layers.py INCLUDE        checks the tree
    layers.py --self-test    checks that each kind of fault is found

Also: foreign interfaces stand where they are allowed, impl.hpp lists every .ipp, and foreign.hpp what is not weft.
"""

import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", re.M)

# In weft.hpp a line that is commented out has its place in the order as well.
ORDER = re.compile(INCLUDE.pattern.replace(r"^\s*#", r"^\s*(?://\s*)?#"), re.M)

# Code is generated for two targets side by side; neither may know the other.
SIBLINGS = {"codegen/llvm", "codegen/cuda"}
# Included by every folder, and including none.
GROUND = {"config.hpp", "version.hpp", "foreign.hpp"}
# Foreign header -> where it may stand. weft declares LLVM's and CUDA's functions itself.
FOREIGN = {
    r"llvm-c/|llvm/|clang-c/": (),
    r"cuda|nvrtc|sqlite": (),
    r"boost/": ("expr/", "kernel.hpp", "results.hpp", "argument.hpp", "foreign.hpp"),
}


def layer(file):
    """The unit that is ordered: a folder, one of two siblings, or a file at the top."""
    sibling = "/".join(file.split("/")[:2])
    return sibling if sibling in SIBLINGS else file.split("/")[0]


def includes(path):
    return INCLUDE.findall(path.read_text())


def faults(root):
    """One sentence per fault of the tree root/weft."""
    weft = pathlib.Path(root, "weft")
    order = []
    for _, name in ORDER.findall((weft / "weft.hpp").read_text()):
        unit = layer(name.removeprefix("weft/"))
        if name.startswith("weft/") and unit not in order and unit not in GROUND:
            order.append(unit)
    found = []
    files = sorted(p for p in weft.rglob("*.[hi]pp") if p.name not in ("weft.hpp", "impl.hpp"))
    for path in files:
        file = path.relative_to(weft).as_posix()
        here = layer(file)
        # x.ipp holds the bodies of x.hpp.
        here = here.replace(".ipp", ".hpp")
        if here not in order and here not in GROUND:
            found.append(f"{file}: '{here}' has no place in weft.hpp")
            continue
        for _, name in includes(path):
            if name.startswith("weft/"):
                found += wrong_place(file, here, name.removeprefix("weft/"), order)
            else:
                found += wrong_foreign(file, name)
    return found + missing_bodies(weft) + missing_foreign(weft)


def wrong_place(file, here, name, order):
    there = layer(name).replace(".ipp", ".hpp")
    if there in GROUND or there == here:
        return []
    if here in GROUND or there not in order or order.index(there) > order.index(here):
        return [f"{file} includes {name}, which comes later in weft.hpp"]
    if {here, there} == SIBLINGS:
        return [f"{file} includes {name}: the code generators do not know each other"]
    return []


def wrong_foreign(file, name):
    for pattern, allowed in FOREIGN.items():
        if re.match(pattern, name) and not any(file.startswith(a) for a in allowed):
            where = "only in " + ", ".join(allowed) if allowed else "nowhere"
            return [f"{file} includes <{name}>, which may stand {where}"]
    return []


def missing_bodies(weft):
    listed = [name.removeprefix("weft/") for _, name in includes(weft / "impl.hpp") if name.endswith(".ipp")]
    there = {p.relative_to(weft).as_posix() for p in weft.rglob("*.ipp")}
    return [f"impl.hpp does not include weft/{f}" for f in sorted(there - set(listed))] + [
        f"impl.hpp includes weft/{f}, which is not there or stands twice"
        for f in sorted({f for f in listed if f not in there or listed.count(f) > 1})]


def missing_foreign(weft):
    """foreign.hpp has what weft.hpp reaches, no more: by WEFT_HEADER_ONLY what only bodies need."""
    def reached(file, with_bodies, seen):
        names = set()
        if file in seen or file == "foreign.hpp" or (file.endswith(".ipp") and not with_bodies):
            return names
        seen.add(file)
        for _, name in includes(weft / file):
            own = name.startswith("weft/")
            names |= reached(name.removeprefix("weft/"), with_bodies, seen) if own else {name}
        return names

    declared = reached("weft.hpp", False, set())
    bodies = reached("weft.hpp", True, set()) - declared
    always, _, header_only = (weft / "foreign.hpp").read_text().partition("#if WEFT_HEADER_ONLY")
    found = []
    for needed, text, where in ((declared, always, "foreign.hpp"),
                                (bodies, header_only, "foreign.hpp, under WEFT_HEADER_ONLY,")):
        listed = {name for _, name in INCLUDE.findall(text) if not name.startswith("weft/")}
        found += [f"{where} lacks <{name}>" for name in sorted(needed - listed)]
        found += [f"{where} has <{name}>, which nothing needs there" for name in sorted(listed - needed)]
    return found


def self_test():
    good = {
        "weft.hpp": '#include "weft/base/a.hpp"\n#include "weft/codegen/llvm/l.hpp"\n'
                    '// #include "weft/codegen/cuda/c.hpp"\n'
                    '#include "weft/kernel.hpp"\n',
        "impl.hpp": '#include "weft/base/a.ipp"\n',
        "foreign.hpp": '#include <boost/hana/tuple.hpp>\n#if WEFT_HEADER_ONLY\n#include <cstdio>\n#endif\n',
        "config.hpp": "", "base/a.hpp": '#include "weft/config.hpp"\n#include "weft/base/a.ipp"\n',
        "base/a.ipp": '#include <cstdio>\n#include "weft/base/a.hpp"\n',
        "codegen/llvm/l.hpp": '#include "weft/base/a.hpp"\n', "codegen/cuda/c.hpp": "",
        "kernel.hpp": '#include <boost/hana/tuple.hpp>\n#include "weft/codegen/llvm/l.hpp"\n',
    }
    # Each bad tree is the good one with one file changed, and words of the sentence that must come.
    bad = [
        ("base/a.hpp", '#include "weft/base/a.ipp"\n#include "weft/kernel.hpp"\n', "comes later"),
        ("base/a.hpp", '#include "weft/base/a.ipp"\n# include <weft/codegen/llvm/l.hpp>\n', "comes later"),
        ("config.hpp", '#include "weft/base/a.hpp"\n', "comes later"),
        ("codegen/cuda/c.hpp", '#include "weft/codegen/llvm/l.hpp"\n', "do not know each other"),
        ("codegen/cuda/c.hpp", '#include <llvm-c/Core.h>\n', "nowhere"),
        ("base/a.ipp", '#include <cstdio>\n#include <boost/hana/tuple.hpp>\n', "only in"),
        ("base/a.ipp", '#include <cstdio>\n#include <cstdlib>\n', "lacks <cstdlib>"),
        ("base/a.hpp", '#include <array>\n#include "weft/base/a.ipp"\n', "foreign.hpp lacks <array>"),
        ("base/a.ipp", "", "has <cstdio>"),
        ("base/b.ipp", "", "does not include weft/base/b.ipp"),
        ("impl.hpp", '#include "weft/base/a.ipp"\n#include "weft/base/a.ipp"\n', "twice"),
        ("lost/x.hpp", "", "no place"),
    ]

    def answer(changes):
        with tempfile.TemporaryDirectory() as root:
            for file, text in {**good, **changes}.items():
                path = pathlib.Path(root, "weft", file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return faults(root)

    wrong = [f"the good tree: {answer({})}"] if answer({}) else []
    for file, text, word in bad:
        found = answer({file: text})
        if len(found) != 1 or word not in found[0]:
            wrong.append(f"{file} = {text!r}: expected one '{word}', got {found}")
    return wrong


if __name__ == "__main__":
    result = self_test() if sys.argv[1] == "--self-test" else faults(sys.argv[1])
    print("\n".join(result) or "all in order")
    sys.exit(1 if result else 0)
