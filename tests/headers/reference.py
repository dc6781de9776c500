"""The reference of the API is made without a warning, and every public function and class has its sentence.

    reference.py SOURCE    ends with 77 where there is no doxygen
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What speaks for itself by its name and its place in a struct that has a sentence.
PLAIN = re.compile(r"\((?:typedef|enumvalue|friend)\) .*is not documented"
                   r"|\(variable\) of (?:struct|class|union) .*is not documented")

# What weft.hpp lists for programs to include, but for those that look inside of the compiler.
INNER = {"weft/background.hpp", "weft/ir/linear.hpp", "weft/lower/open_bounds.hpp", "weft/codegen/size_code.hpp", "weft/interp/interp.hpp",
         "weft/codegen/cuda/module.hpp", "weft/pass/gpu.hpp", "weft/runtime/cuda/cubin.hpp", "weft/runtime/cuda/driver.hpp",
         "weft/runtime/cuda/events.hpp", "weft/runtime/cuda/memory.hpp", "weft/runtime/cuda/reach.hpp",
         "weft/tune/run.hpp", "weft/tune/warp_features.hpp"}


def left_out(source):
    """Headers that a program may include itself and that are not read."""
    read = re.search(r"^INPUT .*?[^\\]$", pathlib.Path(source, "docs/Doxyfile").read_text(), re.M | re.S).group(0).split()
    listed = re.findall(r'^// #include "(.*)"', pathlib.Path(source, "include/weft/weft.hpp").read_text(), re.M)
    return [f"docs/Doxyfile does not read {header}" for header in listed if header not in INNER
            and not any(f"include/{header}".startswith(place) for place in read)]


def warnings(source, *changes):
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(source, "docs/Doxyfile").read_text()
        settings += "\n".join([f"OUTPUT_DIRECTORY={folder}", "WARN_AS_ERROR=NO", *changes, ""])
        run = subprocess.run(["doxygen", "-"], cwd=source, input=settings, text=True, capture_output=True)
        pages = len(list(pathlib.Path(folder, "html").glob("*.html")))
    said = [line for line in run.stderr.splitlines() if line.strip()]
    if run.returncode != 0 or pages < 50:
        said.append(f"doxygen ends with {run.returncode} after {pages} pages")
    return said


def main(source):
    if shutil.which("doxygen") is None:
        print("[skip] no doxygen here: apt-get install doxygen")
        return 77
    found = left_out(source) + warnings(source)
    found += [w for w in warnings(source, "EXTRACT_ALL=NO") if not PLAIN.search(w) and w not in found]
    print("\n".join(found) or "no warnings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
