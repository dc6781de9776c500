"""Every name of the reference is in use in a file that is compiled.

    names.py ROOT          ends with 77 where there is no doxygen
    names.py --self-test   checks that a name that is not in use is found

The names are those that docs/Doxyfile has read: functions, members of classes, and objects. A reader finds them in examples/
or in tests/docs/, which docs/ quotes; ready computations also in tests/ops/, and what needs MPI in tests/mpi/.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Public to the compiler, because headers share them, but of no use to a program.
SHARED = {
    "weft/base/dtype.hpp": "computed dtype_count dtype_table facts is_float is_half is_integer is_signed_integer "
                           "is_unsigned_integer with_dtype",
    "weft/base/env.hpp": "environment environment_number environment_switch switch_value",
    "weft/bench/benchmark.hpp": "of_kernel",
    "weft/bench/counts.hpp": "counted",
    "weft/bench/cuda.hpp": "ns_by_events ns_of of_gpu_kernel refuse_cold",
    "weft/bench/peak.hpp": "peaks_beside",
    "weft/codegen/target.hpp": "cannot_be_made cannot_run_here converts_f16 feature_string kept_target triple",
    "weft/codegen/cuda/resources.hpp": "usage_in",
    "weft/compile.hpp": "compile inspect load_planned make_planned plan_of told_by_call wanted_memory",
    "weft/cuda.hpp": "erased module place",
    "weft/expr/broadcast.hpp": "indices_of meet",
    "weft/expr/face.hpp": "rank",
    "weft/expr/boundary.hpp": "rank",
    "weft/expr/verify.hpp": "fault_of",
    "weft/schedule/instructions.hpp": "shipped_intrinsics",
    "weft/kernel.hpp": "compiled_forms erased texts",
    "weft/options.hpp": "code_wanted",
    "weft/runtime/call_threads.hpp": "most_threads threads_of_default_pool working_threads",
    "weft/runtime/argument.hpp": "dynamic max_arguments max_rank",
    "weft/runtime/cache/cache.hpp": "directory_in_use find keep",
    "weft/runtime/constant.hpp": "find keep state",
    "weft/runtime/dlpack.hpp": "cuda_host read_only rocm_host source type_of version_major version_minor",
    "weft/runtime/thread_pool.hpp": "default_pool piece_begin retire run threads",
    "weft/schedule/schedule.hpp": "check choose perform refuse rewritten take",
    "weft/tune/tuner.hpp": "requested size_of_space",
    "weft/tune/worker.hpp": "begin_compiling chosen_worker copies is_on_gpu last made main_calls_worker never_answered other_threads process program run starts stood_still wait_at_most was_killed where why why_never",
}
SENTENCE = 35  # a longer name is what a failed check of the compiler's shows


def names(root):
    """(header, name) of each, from the reference."""
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        settings = (root / "docs/Doxyfile").read_text()
        settings += f"\nOUTPUT_DIRECTORY={folder}\nGENERATE_HTML=NO\nGENERATE_XML=YES\nWARN_AS_ERROR=NO\n"
        subprocess.run(["doxygen", "-"], cwd=root, input=settings, text=True, capture_output=True, check=True)
        for file in pathlib.Path(folder, "xml").glob("*.xml"):
            for compound in xml.etree.ElementTree.parse(file).getroot().findall("compounddef"):
                if compound.get("kind") not in ("namespace", "struct", "class"):
                    continue
                own = compound.findtext("compoundname").split("::")[-1]
                for member in compound.iter("memberdef"):
                    name = member.findtext("name")
                    function = member.get("kind") == "function"
                    object_ = member.get("kind") == "variable" and compound.get("kind") == "namespace"
                    if member.get("prot") == "public" and (function or object_) and name.isidentifier() and name != own \
                            and not name.startswith("operator") and len(name) <= SENTENCE:
                        found.add((member.find("location").get("file").removeprefix("include/"), name))
    return found


def unused(found, sources, of_ops):
    """One sentence for each name that no source has behind `weft::`, a dot, or with its namespace."""
    faults = []
    for header, name in sorted(found):
        if name in SHARED.get(header, "").split():
            continue
        use = re.compile(rf"(?:\bweft::(?:\w+::)?|\bops::|\.){name}\b")
        if not use.search(sources + (of_ops if header.startswith("weft/ops/") else "")):
            faults.append(f"{name} of {header} stands in no file of examples/ or tests/docs/")
    return faults


def text_of(*folders):
    return "\n".join(re.sub(r"//.*", "", file.read_text()) for folder in folders for file in sorted(folder.rglob("*.cpp")))


def self_test():
    found = {("weft/a.hpp", "used"), ("weft/a.hpp", "member"), ("weft/a.hpp", "unused"), ("weft/ops/b.hpp", "relu"),
             ("weft/base/dtype.hpp", "facts")}
    faults = unused(found, "weft::used(1); x.member(); unused(2); weft::unused_too();", "relu(1); ops::relu_6")
    return [] if [f.split()[0] for f in faults] == ["unused", "relu"] else [f"self-test: {faults}"]


def main(argument):
    if argument == "--self-test":
        faults = self_test()
    elif shutil.which("doxygen") is None:
        print("[skip] no doxygen here: apt-get install doxygen")
        return 77
    else:
        root = pathlib.Path(argument)
        found = names(root)
        faults = unused(found, text_of(root / "examples", root / "tests/docs", root / "tests/mpi"), text_of(root / "tests/ops"))
        if len(found) < 200:
            faults.append(f"the reference has {len(found)} names only")
    print("\n".join(faults) or "all in use")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
