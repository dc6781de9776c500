#!/usr/bin/env python3
"""What weft costs a program that includes it, in seconds of its compiler.

    bench/compile_time.py [--filter text] [--json] [--list] [--rounds n] [--compilers g++,clang++-22]

Times are user and system time of the compiler, which a busy machine disturbs less than the clock on the wall.
A difference is the median over rounds of two compilations made one after the other. Exit status: 0; 1 when
something does not compile.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
UMBRELLA = "#include <weft/weft.hpp>\n"


def scheduled(added):
    """A matmul whose schedule has two steps, and twenty more when `added`."""
    lines = ["auto const [i, j, k] = C.axes();", "auto const [jo, ji] = s.split(j, 64);", "s.vectorize(ji);"]
    if added:
        outer = "i"
        for n in range(15):
            lines.append(f"auto const [o{n}, i{n}] = s.split({outer}, 2);")
            outer = f"o{n}"
        lines += ["auto const [ko, ki] = s.split(k, 64);", f"s.reorder(ko, jo, {outer}, ki, i1, i0, ji);",
                  "s.unroll(i0);", "s.unroll(i1);", "s.parallel(jo);"]
    return UMBRELLA + """
inline constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      """ + "\n      ".join(lines) + """
    });
static_assert(weft::checked<matmul, weft::arg<float, 2>, weft::arg<float, 2>>);
"""


def residual(stages):
    """Each stage adds a function of itself to the one before."""
    lines = ['auto s0 = weft::compute<"s0">(n, [=](auto i) { return x(i) + 1.0f; });']
    for n in range(1, stages):
        lines.append(f'auto s{n} = weft::compute<"s{n}">(n, [=](auto i) {{\n'
                     f'    return s{n - 1}(i) + 0.5f * s{n - 1}(i) * x(i);\n  }});')
    return UMBRELLA + """
inline constexpr auto residual = weft::kernel<"residual">([](auto x) {
  auto n = x.extent(0);
  """ + "\n  ".join(lines) + f"""
  return s{stages - 1};
}});
static_assert(weft::checked<residual, weft::arg<float, 1>>);
"""


def cases():
    """(variant, bar in seconds, flags, source, the source that it is compared with or None)."""
    syntax, build = ["-fsyntax-only"], ["-O2", "-c", "-o", os.devnull]
    compiled = ["-DWEFT_COMPILED=1"]
    example = (ROOT / "examples/01_vector_add.cpp").read_text()
    return [
        ("parse, header-only", 1.0, syntax, UMBRELLA, None),
        ("parse, compiled", 0.6, syntax + compiled, UMBRELLA, None),
        ("-O2 example 1, header-only", 8.0, build, example, None),
        ("-O2 example 1, compiled", 3.0, build + compiled, example, None),
        ("20 more schedule steps", 0.05, syntax + compiled, scheduled(True), scheduled(False)),
        ("30 residual stages", 0.3, syntax + compiled, residual(30), UMBRELLA),
    ]


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env={**os.environ, "CCACHE_DISABLE": "1"}, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[:2000])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(compiler, flags, source, reference, folder, rounds):
    files = []
    for name, text in (("with.cpp", source), ("without.cpp", reference)):
        if text is not None:
            files.append(folder / name)
            files[-1].write_text(text)
    command = [compiler, "-std=c++20", "-I", str(ROOT / "include")] + flags
    if "clang" in compiler:
        command.append("-fconstexpr-steps=200000")
    seconds(command + [str(files[0])])  # reads the headers into memory
    samples = []
    for n in range(rounds):
        times = {f: seconds(command + [str(f)]) for f in (files if n % 2 == 0 else files[::-1])}
        samples.append(times[files[0]] - (times[files[1]] if len(files) == 2 else 0.0))
    return samples


def spread(samples, middle):
    if len(samples) < 2 or middle <= 0:
        return 0.0
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return (tenths[-1] - tenths[0]) / middle


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compilers", default="g++,clang++-22")
    asked = parser.parse_args()
    failed = False
    if not asked.json and not asked.list:
        print(f"{'case':<14} {'compiler':<12} {'variant':<28} {'median':>8} unit {'spread':>7}  bar")
    with tempfile.TemporaryDirectory() as folder:
        for compiler in asked.compilers.split(","):
            if shutil.which(compiler) is None and not asked.list:
                print(f"compile_time   [skip] no {compiler} here", file=sys.stderr)
                continue
            for variant, bar, flags, source, reference in cases():
                if asked.filter not in f"compile_time {compiler} {variant}":
                    continue
                if asked.list:
                    print(f"compile_time {compiler} {variant}")
                    continue
                try:
                    samples = measure(compiler, flags, source, reference, pathlib.Path(folder), asked.rounds)
                except RuntimeError as e:
                    print(f"{compiler}, {variant}: does not compile\n{e}", file=sys.stderr)
                    failed = True
                    continue
                middle = statistics.median(samples)
                width = spread(samples, middle)
                if asked.json:
                    print(json.dumps({"case": "compile_time", "variant": f"{compiler} {variant}",
                                      "median": round(middle, 4), "spread": round(width, 4), "unit": "s",
                                      "ratio": None, "reference": None,
                                      "bar": f"<= {bar:g} s", "pass": middle <= bar}), flush=True)
                else:
                    print(f"{'compile_time':<14} {compiler:<12} {variant:<28} {middle:8.3f} s    {100 * width:6.1f}%  "
                          f"<= {bar:g} s {'PASS' if middle <= bar else 'MISS'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
