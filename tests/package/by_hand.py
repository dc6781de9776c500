"""Programs that use weft without CMake: what a user types, and what must come of it.

    by_hand.py WAY SOURCE BUILD COMPILER [FLAG...]    WAY: one of the functions of WAYS

Ends with 77 after a line `[skip] why` when the machine lacks what a way takes.
"""

import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Place:
    """A folder to work in, and the commands that a user has."""

    def __init__(self, source, build, compiler, folder):
        self.source, self.build, self.folder = pathlib.Path(source), pathlib.Path(build), pathlib.Path(folder)
        self.here = self.source / "tests/package"
        self.cpp = [*compiler, "-std=c++20"]
        self.with_weft = [*self.cpp, "-I", self.source / "include"]

    def ask(self, *command, **environment):
        """Exit status, and all that was said."""
        run = subprocess.run([str(c) for c in command], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C", **environment})
        return run.returncode, run.stdout

    def do(self, *command, **environment):
        code, said = self.ask(*command, **environment)
        if code != 0:
            raise Failure(f"{' '.join(map(str, command))}\nends with {code}:\n{said[-4000:]}")
        return said

    def expect(self, program, wanted, code=0, **environment):
        """`program` says this; a part of it when `wanted` ends in "..."."""
        found, said = self.ask(*(program if isinstance(program, list) else [program]), **environment)
        fits = said.startswith(wanted[:-3]) if wanted.endswith("...") else said == wanted
        if code == 0 and found != 0 and "none was found" in said:
            raise Skip(f"built, not run: {said.splitlines()[-1].strip()}")
        if not fits or found != code:
            raise Failure(f"{program} {environment} ends with {found}, not {code}, and says\n{said}\nnot\n{wanted}")

    def needs(self, tool, package):
        found = shutil.which(tool) or shutil.which(f"/usr/local/cuda/bin/{tool}")
        if found is None:
            raise Skip(f"no {tool} here: {package}")
        return found


def plain(p):
    """g++ -std=c++20 -I include x.cpp: no other flag, no header of LLVM's or CUDA's, and no LLVM until it is called."""
    read = p.do(*p.with_weft, "-M", p.here / "user/main.cpp").replace("\\\n", " ").split()[1:]
    foreign = [f for f in read if re.search("llvm|clang-c|cuda|nvrtc", f.removeprefix(str(p.source)), re.I)
               and "/weft/codegen/" not in f and "/lib/clang/" not in f and "/lib/llvm" not in f]
    if foreign or len(read) < 50:
        raise Failure(f"of {len(read)} files that a program reads these are foreign: {foreign}")
    p.do(*p.with_weft, p.here / "user/main.cpp")
    p.do(*p.cpp, "-shared", "-fPIC", p.here / "no_llvm.cpp", "-o", "no_llvm.so")
    p.expect("./a.out", "weft needs LLVM 19 to 22 at run time, and none was found; on Debian: apt-get install libllvm19; "
             "elsewhere WEFT_LLVM may be the path of a libLLVM.so\n", 3, LD_PRELOAD="./no_llvm.so")
    p.expect("./a.out", "WEFT_LLVM asks for /nowhere/libLLVM.so, which cannot be loaded: ...", 3,
             WEFT_LLVM="/nowhere/libLLVM.so")
    p.expect("./a.out", "right\n")


def no_exceptions(p):
    p.do(*p.with_weft, "-fno-exceptions", "-fno-rtti", p.here / "no_exceptions.cpp")
    p.expect("./a.out", "right\nsum_of: ...", 3)
    code, said = p.ask("./a.out", "without a handler of its own")
    if code != -signal.SIGABRT or not said.startswith("right\nweft: sum_of: "):
        raise Failure(f"by weft's own handler it ends with {code}, and says\n{said}")


def pkg_config(p):
    """Both libraries, from a folder that is not the one they were installed into."""
    tool = p.needs("pkg-config", "apt-get install pkg-config")
    p.do("cmake", "--install", p.build, "--prefix", p.folder / "first")
    (p.folder / "first").rename(p.folder / "second")
    search = next(p.folder.glob("second/**/weft.pc")).parent
    for library in "weft", "weft-compiled":
        flags = p.do(tool, "--cflags", "--libs", library, PKG_CONFIG_PATH=str(search)).split()
        if f"-I{p.folder}/second/include" not in map(os.path.normpath, flags):
            raise Failure(f"{library}: {flags}")
        p.do(*p.cpp, p.here / "user/main.cpp", "-o", library, *flags)
        p.expect(f"./{library}", "right\n")


def amalgamated(p):
    """One file instead of the folder, the same on each run, and lesson 1 with it, optimised as for a release: g++ warns then of more."""
    script = p.source / "scripts/amalgamate"
    (p.folder / "weft").mkdir()
    (p.folder / "weft/weft.hpp").write_text(first := p.do(script, PYTHONHASHSEED="1"))
    if first != p.do(script, PYTHONHASHSEED="2"):
        raise Failure("two runs of scripts/amalgamate differ")
    if re.search(r'^\s*#\s*include\s*["<]weft/', first, re.M):
        raise Failure("scripts/amalgamate left an #include of weft's")
    p.do(*p.cpp, "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", p.folder, p.source / "examples/01_vector_add.cpp")
    if "c[999]" not in p.do("./a.out"):
        raise Failure("lesson 1 does not say what it should")
    code, said = p.ask(*p.cpp, "-DWEFT_COMPILED=1", "-fsyntax-only", "-I", p.folder, p.here / "user/main.cpp")
    if code == 0 or "header-only" not in said:
        raise Failure(f"the one file must not be taken for weft::compiled: {said[:2000]}")
    (p.folder / "more").mkdir()
    headers = [f"weft/{h}.hpp" for h in ("weft", "ops", "dim", "debug", "runtime/executor", "runtime/npy", "runtime/dlpack")]
    (p.folder / "more/weft.hpp").write_text(more := p.do(script, *headers))
    for header in headers:
        if more.count(f"// ---- {header}\n") != 1:
            raise Failure(f"scripts/amalgamate has {header} {more.count(header)} times")
    p.do(*p.cpp, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", p.folder / "more", p.here / "carried.cpp")
    p.expect(["./a.out", p.folder / "a.npy"], "right\n")
    code, said = p.ask(script, "weft/nothing.hpp")
    if code == 0 or "weft has no header weft/nothing.hpp" not in said or "Traceback" in said:
        raise Failure(f"scripts/amalgamate with a header that is not there: {said}")


def mixing(p):
    """Two TUs whose switches give functions another meaning do not link, and the linker names both ABIs."""
    switches = {"": "v0_1_header_base", "-fno-exceptions": "v0_1_header_base_no_exceptions",
                "-ffast-math": "v0_1_header_base_fast_math", "-DWEFT_COMPILED=1": "v0_1_compiled_base",
                "-D_GLIBCXX_USE_CXX11_ABI=0": "v0_1_header_base_old_strings",
                "-D_GLIBCXX_DEBUG": "v0_1_header_base_std_debug"}
    if platform.machine() == "x86_64":
        switches |= {"-msse3": "v0_1_header_sse3", "-msse4.2": "v0_1_header_sse42", "-mbmi2": "v0_1_header_base_bmi2",
                     "-mpopcnt": "v0_1_header_base_popcnt", "-mavx": "v0_1_header_avx", "-mfma": "v0_1_header_avx_fma",
                     "-march=ivybridge": "v0_1_header_avx_f16c", "-mavx2": "v0_1_header_avx2",
                     "-mavx512f": "v0_1_header_avx512", "-march=x86-64-v2": "v0_1_header_sse42",
                     "-march=x86-64-v3": "v0_1_header_x86v3", "-march=x86-64-v4 -mgfni": "v0_1_header_x86v4_gfni"}
    p.do(*p.with_weft, "-c", p.here / "mixing/main.cpp")
    for switch, abi in switches.items():
        p.do(*p.with_weft, *switch.split(), "-c", p.here / "mixing/fill.cpp")
        if not re.search(rf"\b{abi}(_f16c_fma)?::", p.do("nm", "-C", "fill.o")):  # clang's -mavx512f has these two
            raise Failure(f"with {switch} the ABI is not {abi}")
        code, said = p.ask(*p.cpp, "main.o", "fill.o")
        if switch == "":
            p.expect("./a.out", "")
        elif code == 0 or not re.search(r"undefined.*fill\(weft::v0_1_header_base::tensor", said):
            raise Failure(f"main.cpp without and fill.cpp with {switch}: {said or 'they link'}")
    for switch in "-fpack-struct", "-fpack-struct=4", "-fshort-enums":
        code, said = p.ask(*p.with_weft, switch, "-fsyntax-only", p.here / "mixing/fill.cpp")
        errors = [line for line in said.splitlines() if " error: " in line]
        if code == 0 or "change the layout of what" not in said or "static assertion failed" not in errors[0]:
            raise Failure(f"{switch}: {said[:2000] or 'it compiles'}")


def impl_by_mistake(p):
    """weft/impl.hpp in a header-only program, and an old C++: one sentence first, not a page of redefinitions."""
    for flags, text, words in (([], '#include "weft/weft.hpp"\n#include "weft/impl.hpp"\n', "is for the one file of"),
                               (["-std=c++17"], '#include "weft/config.hpp"\n', "weft needs C++20")):
        (p.folder / "wrong.cpp").write_text(text)
        code, said = p.ask(*p.with_weft, *flags, "-fsyntax-only", "wrong.cpp")
        errors = [line for line in said.splitlines() if " error: " in line]
        if code == 0 or words not in errors[0]:
            raise Failure(f"{text} {flags}: {said[:2000]}")


def cuda(p):
    """A TU with weft beside one that nvcc compiles; and weft in a .cu file is refused in words."""
    nvcc = p.needs("nvcc", "NVIDIA's CUDA toolkit")
    (p.folder / "wrong.cu").write_text("#include <weft/weft.hpp>\n")
    code, said = p.ask(nvcc, *p.with_weft[-2:], "-std=c++20", "-c", "wrong.cu")
    if code == 0 or "weft cannot be included in a .cu file" not in said or said.count(" error: ") != 1:
        raise Failure(f"nvcc on a .cu file with weft: {said[:2000]}")
    p.do(*p.with_weft, "-c", p.here / "cuda/host.cpp")
    p.do(nvcc, "-std=c++17", "-arch=sm_80", "-c", p.here / "cuda/device.cu")
    p.do(nvcc, "host.o", "device.o", "-o", "a.out")
    p.expect("./a.out", "right...")


def gpu(p):
    """A header-only program with a kernel on a GPU: it links, says that there is no driver where there is none, and runs on one that is this machine."""
    p.do(*p.with_weft, p.here / "gpu.cpp")
    p.expect("./a.out", "there is no CUDA driver (/nonexistent/libcuda.so.1): install NVIDIA's, or compute on the CPU\n", 3, WEFT_CUDA="/nonexistent/libcuda.so.1")
    shared = [*p.cpp, "-shared", "-fPIC", "-x", "c++", p.source / "tests/support/cuda_machine_stub.hpp"]  # a GPU that is this machine
    for file in "libcuda.so.1", "libnvrtc.so.13":
        p.do(*shared, "-o", file)
    host = f"{' '.join(map(str, p.cpp))} -w -ffp-contract=off -fPIC -shared -include '{p.source}/tests/support/cuda_shim.hpp'"
    p.expect("./a.out", "1.693\n", LD_LIBRARY_PATH=str(p.folder), WEFT_STUB_CXX=host, WEFT_CACHE="off")


def tests_without_llvm(p):
    """weft's own tests say what they skip on such a machine, and run the rest."""
    p.do(*p.cpp, "-shared", "-fPIC", p.here / "no_llvm.cpp", "-o", "no_llvm.so")
    tests, without = p.build / "tests/weft-tests", {"LD_PRELOAD": "./no_llvm.so"}
    count = {}
    for name, environment in ("with", {}), ("without", without):
        code, said = p.ask(tests, "--count", **environment)
        count[name] = int(re.search(r"filters: (\d+)", said).group(1))
        if code != 0 or (name == "without") != said.startswith("[skip] tests that compile kernels: weft needs LLVM"):
            raise Failure(f"{name} LLVM: {said}")
    if not 0 < count["without"] < count["with"]:
        raise Failure(f"test cases: {count}")
    code, said = p.ask(tests, "--source-file=*/tests/kernel.cpp", **without)
    if code != 77 or not said.startswith("[skip] this compiles kernels: weft needs LLVM"):
        raise Failure(f"tests/kernel.cpp ends with {code}: {said}")
    p.do(tests, "--source-file=*/tests/ir/ir.cpp", **without)


WAYS = {f.__name__: f for f in (plain, no_exceptions, pkg_config, amalgamated, mixing, impl_by_mistake, cuda, gpu,
                                tests_without_llvm)}


def main(way, source, build, *compiler):
    with tempfile.TemporaryDirectory() as folder:
        try:
            WAYS[way](Place(source, build, compiler, os.path.realpath(folder)))
        except Failure as f:
            print(f)
            return 1
        except Skip as s:
            print(f"[skip] {s}")
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
