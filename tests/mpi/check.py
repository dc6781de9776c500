"""Runs the program on 1 to 4 ranks, and on 3 of which one is lost: check.py PROGRAM MPIRUN."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile


def run(program, mpirun, ranks, *arguments, **variables):
    """Its lines by rank, each as a dictionary; and all that it printed."""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    flags = ["--oversubscribe", "--enable-recovery"] if "Open MPI" in version or "OpenRTE" in version else []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "WEFT_CACHE": cache, "XDG_CACHE_HOME": cache, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
        environment.pop("WEFT_CACHE")
        done = subprocess.run([mpirun, *flags, "-n", str(ranks), program, *arguments], capture_output=True, text=True,
                              timeout=180, env=environment)
    lines = {}
    for rank, rest in re.findall(r"^rank (\d+) of \d+: (.*)$", done.stdout, re.M):
        words = rest.split()
        lines[int(rank)] = {k: int(v) for k, v in zip(words[::2], words[1::2])}
    return lines, done.stdout + done.stderr


def stub_of_a_gpu(folder):
    """Variables with which a process finds a driver and an NVRTC that run kernels on the host; none without a compiler."""
    support = pathlib.Path(__file__).resolve().parent.parent / "support"
    compiler = os.environ.get("CXX") or "c++"
    if shutil.which(compiler) is None:
        return None
    for file, nvrtc in (("libcuda.so.1", 0), ("libnvrtc.so.13", 13)):
        subprocess.run([compiler, "-std=c++17", "-O0", "-fPIC", "-shared", f"-DSTUB_NVRTC={nvrtc}", "-x", "c++", "-o", f"{folder}/{file}",
                        f"{support}/cuda_machine_stub.hpp", "-ldl"], check=True)
    return {"LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
            "WEFT_STUB_CXX": f"{compiler} -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -include '{support}/cuda_shim.hpp'"}


def main(program, mpirun):
    faults = []

    def expect(condition, what, text):
        if not condition:
            faults.append(f"{what}\n{text}")

    for ranks in (1, 2, 3, 4):
        lines, text = run(program, mpirun, ranks)
        case = f"{ranks} ranks"
        expect(sorted(lines) == list(range(ranks)), f"{case}: not all came to the end", text)
        for rank, line in lines.items():
            expect(line["right"] and not line["wrong"], f"{case}: rank {rank} has a wrong result", text)
            expect(line["used"], f"{case}: rank {rank} does not use what was found", text)
            expect(line["starts"] >= 1, f"{case}: rank {rank} measured nothing", text)
        if 0 in lines:
            expect(lines[0]["trials"] == 24 and lines[0]["kept"] and not lines[0]["lost"], f"{case}: not all trials came back", text)
        if ranks > 1:  # all but the first, which each rank measures
            expect(sum(line["trials"] - 1 for rank, line in lines.items() if rank > 0) == 23 and all(line["trials"] > 1 for line in lines.values()),
                   f"{case}: the other ranks have not measured all between them", text)
    if platform.machine() == "x86_64":
        lines, text = run(program, mpirun, 3, "--mixed")
        expect(sorted(lines) == [0, 1, 2], "a machine of another kind among 3 ranks: not all came to the end", text)
        expect(re.search(r"^refused: rank 2 on \S+ takes no part: its machine is another one, .*: x86-64, .* that of rank 0: .*\. Start the ranks on machines of one kind", text, re.M),
               "rank 0 does not say that another machine was refused", text)
        expect(not re.search(r"^refused: .*rank 1 ", text, re.M), "a machine of the same kind was refused", text)
        expect(re.search(r"^why 2: this rank took no part: its machine is another one", text, re.M), "the rank that was refused is not told", text)
        if 0 in lines:
            expect(lines[0]["trials"] == 24 and lines[0]["kept"] and lines[0]["right"], "the tuning did not go on without the rank that was refused", text)
        if 2 in lines:
            expect(not lines[2]["kept"] and lines[2]["right"], "the rank that was refused took over what was found elsewhere", text)
    for faulty in (0, 1):
        lines, text = run(program, mpirun, 3, "--fails", str(faulty))
        case = f"rank {faulty} cannot begin"
        expect(re.search(rf"^why {faulty}: thrown: .*no program is named for candidates", text, re.M), f"{case}: it is not told why", text)
        expect(sorted(lines) == [0, 1, 2] and all(line["starts"] >= 1 for line in lines.values()), f"{case}: the ranks do not tune after it", text)
        said = r"^refused: rank 1 on \S+ takes no part: .*no program is named" if faulty else r"^why 2: this rank took no part: rank 0 ended with an error: .*no program is named"
        expect(re.search(said, text, re.M), f"{case}: the others are not told", text)
    lines, text = run(program, mpirun, 3, "--late")
    expect(sorted(lines) == [0, 1, 2], "a rank that comes too late waits for ever", text)
    expect(re.search(r"^why 2: this rank took no part: it came when rank 0 had waited for it too long", text, re.M), "a rank that comes too late is not told", text)
    if sorted(lines) == [0, 1, 2]:
        expect(lines[0]["first"] == 4 and lines[2]["first"] <= 1, "a rank was waited for in vain", text)
        expect(lines[0]["trials"] == 8 and lines[2]["trials"] > 1, "a rank that came too late once takes no part in the next tuning", text)
    lines, text = run(program, mpirun, 3, "--lose")
    expect(sorted(lines) == [0, 1], "of 3 ranks one was to be lost, and no other", text)
    if 0 in lines:
        expect(lines[0]["lost"] <= 1, "a lost rank cost more than its trial", text)
        expect(lines[0]["trials"] > 20 and lines[0]["kept"] and lines[0]["right"], "the tuning did not go on without the lost rank", text)
    lines, text = run(program, mpirun, 3, "--lose", "0")
    expect(sorted(lines) == [1, 2], "rank 0 was to be lost, and no other", text)
    for rank, line in lines.items():
        expect(line["right"] and not line["kept"], f"rank 0 is lost: rank {rank} has a wrong result, or one that nobody found", text)
        expect(f"why {rank}: nothing was found: the one that searches is gone" in text, f"rank 0 is lost: rank {rank} does not say so", text)
    with tempfile.TemporaryDirectory() as folder:
        if stub := stub_of_a_gpu(folder):
            # Two GPUs of one kind: ranks 0, 1, 2 take 0, 1, 0, and all measure.
            lines, text = run(program, mpirun, 3, "--gpu", WEFT_STUB_ALIKE="1", **stub)
            expect({rank: line["device"] for rank, line in lines.items()} == {0: 0, 1: 1, 2: 0}, "the ranks do not take the GPUs in turn", text)
            expect(all(line["starts"] >= 1 for line in lines.values()), "a rank with a GPU measured nothing", text)
            expect(re.search(r"^refused: $", text, re.M) and lines.get(0, {}).get("trials") == 3, "ranks with GPUs of one kind do not take part", text)
            # Ranks that the program gave a GPU each keep it.
            lines, text = run(program, mpirun, 2, "--gpu", "own", WEFT_STUB_ALIKE="1", **stub)
            expect({rank: line["device"] for rank, line in lines.items()} == {0: 0, 1: 1}, "ranks do not keep the GPUs that they were given", text)
            # Of two kinds: rank 1 is told.
            lines, text = run(program, mpirun, 2, "--gpu", **stub)
            expect(re.search(r"^refused: rank 1 on \S+ takes no part: .*: Stub 80 S \(sm_80, 108 processors\); that of rank 0: Stub 80 \(sm_80", text, re.M),
                   "a rank with another GPU is not refused by its name", text)
    for fault in faults:
        print(fault)
    print(f"ranks: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
