#!/usr/bin/env python3
"""Equal time for tuners: weft, TVM's MetaSchedule and Halide's autoschedulers, each given the same seconds for the same problem on this machine.

    bench/tuner_peers.py [--seconds 600] [--filter conv] [--threads 2] [--rounds 15] [--tvm PYTHON] [--folder FOLDER]

One after the other they tune; then all of them stay, and take samples in turns, so that a slow minute meets all alike. What they
compute is compared. At the end: in geometric means over the cases, each one's time over weft's, and that of the best of the others in each case; the exit status is 1 where the bar is missed or results differ. With
three tuners and four cases it takes twelve times the seconds and some five minutes: 2 h 5 min as it is, which it says when it begins. Nobody has a library of ready kernels: weft's kernels have no how-lambda, TVM and Halide get plain formulas.

--tvm names a Python that has TVM with MetaSchedule: `python3 -m venv v && v/bin/pip install apache-tvm apache-tvm-ffi==0.1.14.post1 numpy cloudpickle psutil scipy xgboost-cpu`. Without it, and
without Halide 14 (apt-get install libhalide14-0-dev), there is a [skip]. Needs g++; builds what it needs (1 min), in FOLDER or one that goes at the end.
"""
import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CASES = ["matmul512", "matmul1024", "conv", "softmax"]
HERE = os.path.dirname(os.path.abspath(__file__))


# --- TVM's part, run by the Python that has it -----------------------------------------------------------------------------

def tvm_parts():
    import tvm
    from tvm import te
    try:
        from tvm.s_tir import meta_schedule
    except ImportError:
        from tvm import meta_schedule
    return tvm, te, meta_schedule


def tvm_problem(te, case):
    """The formula's tensors, inputs first."""
    if case.startswith("matmul"):
        n = int(case[len("matmul"):])
        a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
        k = te.reduce_axis((0, n), name="k")
        return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    if case == "conv":
        x, w = te.placeholder((58, 58, 64), name="x"), te.placeholder((3, 3, 64, 64), name="w")
        r, q, c = (te.reduce_axis((0, n), name=name) for n, name in ((3, "r"), (3, "q"), (64, "c")))
        return [x, w, te.compute((56, 56, 64), lambda i, j, o: te.sum(x[i + r, j + q, c] * w[r, q, c, o], axis=[r, q, c]), name="y")]
    x = te.placeholder((512, 1024), name="x")
    k, l = te.reduce_axis((0, 1024), name="k"), te.reduce_axis((0, 1024), name="l")
    m = te.compute((512,), lambda i: te.max(x[i, k], axis=k), name="m")
    e = te.compute((512, 1024), lambda i, j: te.exp(x[i, j] - m[i]), name="e")
    s = te.compute((512,), lambda i: te.sum(e[i, l], axis=l), name="s")
    return [x, te.compute((512, 1024), lambda i, j: e[i, j] / s[i], name="y")]


def tvm_target(tvm, threads):
    try:
        cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    except Exception:  # older ones
        cpu = "skylake-avx512" if "avx512f" in open("/proc/cpuinfo").read() else "core-avx2"
    try:
        return tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    except Exception:
        return tvm.target.Target(f"llvm -mcpu={cpu} -num-cores {threads}")


def tvm_module(tvm, te, case):
    return tvm.IRModule({"main": te.create_prim_func(tvm_problem(te, case)).with_attr("tir.noalias", True)})


def quick_stack():
    """TVM parses its 200 tensor intrinsics as they are imported, and asks inspect.stack() for each, which looks for the source of all frames: that
    takes most of the import. It uses none of that source."""
    import inspect

    def stack(context=1):
        frame, found = sys._getframe(1), []
        while frame is not None:
            found.append(inspect.FrameInfo(frame, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None, None))
            frame = frame.f_back
        return found

    inspect.stack = stack


def tvm_build(mod, target, _params):
    """TVM's own function for this imports the intrinsics, in a new process for each batch, and that counts for the 30 s that a candidate has: on a
    busy machine none was built. Programs of f32 have none of them."""
    from tvm.driver import build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock
    return build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod), target=target)


def tvm_tune(case, folder, threads):
    """Until somebody ends this process."""
    tvm, te, ms = tvm_parts()
    more = {}
    if ms.__name__ == "tvm.s_tir.meta_schedule":  # the first releases that have it there; older ones take neither as long nor this
        quick_stack()
        more = {"builder": ms.builder.LocalBuilder(max_workers=threads, f_build=tvm_build), "num_tuning_cores": threads}
    ms.tune_tir(mod=tvm_module(tvm, te, case), target=tvm_target(tvm, threads), work_dir=folder, max_trials_global=1000000,
                num_trials_per_iter=64, **more)


def records(folder):
    try:
        return sum(1 for _ in open(os.path.join(folder, "database_tuning_record.json")))
    except OSError:
        return 0


def tvm_serve(case, seconds, threads):
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log = open(os.path.join(folder, "log"), "w")
        child = subprocess.Popen([sys.executable, __file__, "--tvm-tune", case, folder, str(threads)], stdout=log, stderr=log, start_new_session=True)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        ended_early = child.poll()
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        spent = time.monotonic() - began
        tvm, te, ms = tvm_parts()
        import numpy as np
        path = lambda name: os.path.join(folder, name)
        if records(folder) == 0:
            told = [line for line in open(path("log")).read().split("\n") if "Error" in line or "Segfault" in line]
            print(f"failed: no schedule was measured in {spent:.0f} s;", " ".join(told[-2:])[-400:])
            return
        # The last record may have been cut off.
        lines = open(path("database_tuning_record.json")).read().split("\n")
        whole = []
        for line in lines:
            try:
                json.loads(line)
                whole.append(line)
            except ValueError:
                pass
        open(path("database_tuning_record.json"), "w").write("\n".join(whole) + "\n")
        database = ms.database.JSONDatabase(path("database_workload.json"), path("database_tuning_record.json"))
        mod, target = tvm_module(tvm, te, case), tvm_target(tvm, threads)
        schedule = ms.tir_integration.compile_tir(database, mod, target)
        if schedule is None:
            print("failed: none of the schedules ran")
            return
        build = tvm.compile if hasattr(tvm, "compile") else tvm.build
        run = build(schedule.mod if hasattr(schedule, "mod") else schedule, target=target)
        call = run["main"]
        array = tvm.runtime.tensor if hasattr(tvm.runtime, "tensor") else tvm.nd.array
        arguments = []
        for t in tvm_problem(te, case):
            shape = [int(n) for n in t.shape]
            count = int(np.prod(shape))
            arguments.append(array((np.arange(count, dtype="int64") * 7 % 13 * 0.25 - 1.5).astype("float32").reshape(shape)))
        call(*arguments)
        out = arguments[-1].numpy().astype("float64").ravel()
        print(f"ready trials {len(whole)} seconds {spent:.1f} sum {(out * (np.arange(out.size) % 5)).sum():.9g} size {np.abs(out).sum():.9g} "
              f"version {tvm.__version__}{'' if ended_early is None else '_ended_early'}", flush=True)
        for _ in sys.stdin:
            call(*arguments)
            times, start = 0, time.perf_counter()
            while True:
                for _ in range(4):  # the clock and the loop cost a call of 50 us some tenths of a per cent
                    call(*arguments)
                times += 4
                taken = time.perf_counter() - start
                if taken > 0.05:
                    break
            print(f"{taken * 1e6 / times:.3f}", flush=True)


# --- all of them ------------------------------------------------------------------------------------------------------------

class Contestant:
    """A process that tunes, says `ready`, and answers each line with a sample in us."""

    def __init__(self, name, command, environment):
        self.name, self.samples = name, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.said = {}
        for line in self.process.stdout:
            words = line.split()
            if words and words[0] == "ready":
                self.said = dict(zip(words[1::2], words[2::2]))
                return
            if words and words[0] == "failed:":
                print(f"[skip] {name}: {line.strip()}")
                return

    def is_there(self):
        return bool(self.said)

    def sample(self):
        self.process.stdin.write("sample\n")
        self.process.stdin.flush()
        self.samples.append(float(self.process.stdout.readline()))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def built(folder, source, flags):
    program = os.path.join(folder, os.path.basename(source)[: -len(".cpp")])
    if os.path.exists(program):
        return program
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O1", source, "-o", program, *flags], check=True)
    return program


def plugins():
    for folder in ("/usr/lib/x86_64-linux-gnu/halide14", "/usr/lib/aarch64-linux-gnu/halide14", "/usr/lib/halide14"):
        if os.path.exists(os.path.join(folder, "libautoschedule_adams2019.so")):
            return folder
    return ""


def has_tvm(python):
    probe = "import tvm, numpy\ntry:\n  from tvm.s_tir import meta_schedule\nexcept ImportError:\n  from tvm import meta_schedule\n"
    found = subprocess.run([python, "-c", probe], capture_output=True, text=True)
    return "" if found.returncode == 0 else (found.stderr.strip().split("\n") or ["?"])[-1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--filter", default="")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--folder", default="", help="where tune_weft and tune_halide are built, and used if they are there")
    p.add_argument("--tvm", default=sys.executable)
    p.add_argument("--tvm-tune", nargs=3, help=argparse.SUPPRESS)
    p.add_argument("--tvm-serve", nargs=3, help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.tvm_tune:
        return tvm_tune(o.tvm_tune[0], o.tvm_tune[1], int(o.tvm_tune[2]))
    if o.tvm_serve:
        return tvm_serve(o.tvm_serve[0], float(o.tvm_serve[1]), int(o.tvm_serve[2]))

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WEFT_THREADS": str(o.threads), "TVM_NUM_THREADS": str(o.threads), "OMP_NUM_THREADS": str(o.threads),
                       "HL_NUM_THREADS": str(o.threads), "XDG_CACHE_HOME": os.path.join(folder, "cache")}
        environment.pop("WEFT_CACHE", None)
        programs = o.folder or folder
        os.makedirs(programs, exist_ok=True)
        weft = built(programs, os.path.join(HERE, "programs", "tune_weft.cpp"), ["-I", os.path.join(HERE, "..", "include"), "-ldl", "-lpthread"])
        commands = [("weft", lambda case: [weft, case, str(o.seconds)])]
        if why := has_tvm(o.tvm):
            print(f"[skip] TVM: {why} (see --help)")
        else:
            commands.append(("TVM", lambda case: [o.tvm, os.path.abspath(__file__), "--tvm-serve", case, str(o.seconds), str(o.threads)]))
        if not plugins():
            print("[skip] Halide: no autoschedulers here (apt-get install libhalide14-0-dev)")
        else:
            halide = built(programs, os.path.join(HERE, "programs", "tune_halide.cpp"), ["-I", "/usr/include/halide14", "-lHalide", "-ldl", "-lpthread"]
                           if os.path.exists("/usr/lib/x86_64-linux-gnu/libHalide.so") else ["-I", "/usr/include/halide14", "-lHalide14", "-ldl", "-lpthread"])
            commands.append(("Halide", lambda case: [halide, case, str(o.seconds), plugins()]))
        cases = [case for case in CASES if o.filter in case]
        minutes = (len(cases) * len(commands) * (o.seconds + 8) + 60) / 60
        print(f"{len(cases)} cases by {len(commands)} tuners: about {minutes:.0f} minutes, done at {time.strftime('%H:%M', time.localtime(time.time() + 60 * minutes))}")
        ratios, best_of_others, any_wrong = {}, [], False
        print(f"| {o.seconds:g} s each, {o.threads} threads | tuner | us | over weft's | trials | seconds | by |\n|---|---|---|---|---|---|---|")
        for case in cases:
            all_of_them = [Contestant(name, command(case), environment) for name, command in commands]
            there = [c for c in all_of_them if c.is_there()]
            for round_number in range(o.rounds):
                for c in there if round_number % 2 == 0 else reversed(there):
                    c.sample()
            first = there[0] if there else None
            beside = []
            for c in there:
                ratio = statistics.median(b / a for a, b in zip(first.samples, c.samples))
                size = float(first.said["size"])
                wrong = abs(float(c.said["sum"]) - float(first.said["sum"])) > 1e-4 * size or abs(float(c.said["size"]) - size) > 1e-4 * size
                any_wrong = any_wrong or wrong
                if first.name == "weft" and c is not first and not wrong:
                    ratios.setdefault(c.name, []).append(ratio)
                    beside.append(ratio)
                by = c.said.get("by", c.said.get("version", f"{c.said['without']} us by rule" if "without" in c.said else ""))
                print(f"| {case} | {c.name} | {statistics.median(c.samples):.4g} | {ratio:.3f} | {c.said['trials']} | {c.said['seconds']} | "
                      f"{by}{' WRONG RESULT' if wrong else ''} |", flush=True)
            if beside:
                best_of_others.append(min(beside))
            for c in all_of_them:
                c.end()
        mean = lambda all: math.exp(sum(map(math.log, all)) / len(all))
        for name, all in ratios.items():
            print(f"geometric mean of {len(all)} cases: {name}'s time over weft's {mean(all):.3f}")
        if best_of_others:
            print(f"geometric mean of {len(best_of_others)} cases: the best other's time over weft's {mean(best_of_others):.3f} (bar 1.0: {'met' if mean(best_of_others) >= 1 else 'MISSED'})")
        if any_wrong:
            print("results differ: the first of a case, or who is marked, is wrong")
        return int(any_wrong or (bool(best_of_others) and mean(best_of_others) < 1))


if __name__ == "__main__":
    sys.exit(main())
