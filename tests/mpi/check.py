"""Runs the program on 1 to 4 ranks, and on 3 of which one is lost: check.py PROGRAM MPIRUN."""

import os
import platform
import re
import subprocess
import sys
import tempfile


def run(program, mpirun, ranks, *arguments):
    """Its lines by rank, each as a dictionary; and all that it printed."""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    flags = ["--oversubscribe", "--enable-recovery"] if "Open MPI" in version or "OpenRTE" in version else []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "WEFT_CACHE": cache, "XDG_CACHE_HOME": cache, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment.pop("WEFT_CACHE")
        done = subprocess.run([mpirun, *flags, "-n", str(ranks), program, *arguments], capture_output=True, text=True,
                              timeout=180, env=environment)
    lines = {}
    for rank, rest in re.findall(r"^rank (\d+) of \d+: (.*)$", done.stdout, re.M):
        words = rest.split()
        lines[int(rank)] = {k: int(v) for k, v in zip(words[::2], words[1::2])}
    return lines, done.stdout + done.stderr


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
    lines, text = run(program, mpirun, 3, "--lose")
    expect(sorted(lines) == [0, 1], "of 3 ranks one was to be lost, and no other", text)
    if 0 in lines:
        expect(lines[0]["lost"] <= 1, "a lost rank cost more than its trial", text)
        expect(lines[0]["trials"] > 20 and lines[0]["kept"] and lines[0]["right"], "the tuning did not go on without the lost rank", text)
    for fault in faults:
        print(fault)
    print(f"ranks: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
