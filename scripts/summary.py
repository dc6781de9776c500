"""Sums up what ctest wrote: failures and skips by name, then one closing line.

    summary.py FOLDER        of one PRESET.xml (JUnit) per run of ctest, and a PRESET.broken per run that never began
    summary.py --self-test   checks what ends how

A test counts as passed, failed or skipped; a `[skip]` line of a test that passed otherwise counts as skipped too.
Ends with 1 on a failure, on no test at all, and with CI=true on a skip for want of something that can be installed: LLVM,
NVRTC, or what its line names a package for (`apt-get install ..`). What may be missing in CI too names none: CUDA's nvcc,
the right to mount a disk, another CPU.
"""

import collections
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree

SKIP = re.compile(r"^(?:.*MESSAGE: |\s*)(\[skip\].*)$", re.M)  # doctest says where first
NEEDED_IN_CI = re.compile(r"llvm|nvrtc|apt-get install", re.I)


def main(folder, ci):
    passed, failed, skips = 0, len(list(pathlib.Path(folder).glob("*.broken"))), 0
    reasons = collections.Counter()
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            lines = SKIP.findall(output)
            reasons.update(lines)
            status = case.get("status")
            if status == "fail":
                failed += 1
                # A fuzzer says its seed first, and a compiler what matters.
                shown = output if len(output) <= 8000 else f"{output[:4000]}\n[..]\n{output[-4000:]}"
                print(f"[fail] {path.stem}: {case.get('name')}\n{shown}")
            elif status == "run":
                passed += 1
                skips += len(lines)
            else:
                skips += max(1, len(lines))
                if not lines:
                    reasons[f"[skip] {case.get('name')} was not run"] += 1
    for line, count in sorted(reasons.items()):
        print(line if count == 1 else f"{line} ({count} times)")
    needed = [line for line in reasons if NEEDED_IN_CI.search(line)] if ci else []
    for line in needed:
        print(f"[fail] with CI=true this must be there: {line}")
    print(f"{passed} passed, {failed + len(needed)} failed, {skips} skipped")
    return 1 if failed or needed or passed == 0 else 0


def self_test():
    """One sentence per answer that is wrong."""
    runs = [  # a test's status, what it said, and how a run of it and of one that passed ends: at home, in CI
        ("run", "", 0, 0),
        ("fail", "", 1, 1),
        ("notrun", "[skip] no gdb here: apt-get install gdb", 0, 1),
        ("run", "ok\n  [skip] Eigen is not installed here: apt-get install libeigen3-dev\n", 0, 1),
        ("run", "/tests/debug.cpp:234: MESSAGE: [skip] no gdb here: apt-get install gdb\n", 0, 1),
        ("notrun", "[skip] no LLVM 22 here", 0, 1),
        ("notrun", "[skip] no NVRTC on this machine", 0, 1),
        ("notrun", "[skip] no nvcc here: NVIDIA's CUDA toolkit", 0, 0),
        ("run", "[skip] only root can give files away", 0, 0),
    ]
    wrong = []
    for status, said, *wanted in runs:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "dev.xml").write_text(
                f'<testsuite><testcase name="good" status="run"/><testcase name="it" status="{status}">'
                f"<system-out>{said}</system-out></testcase></testsuite>")
            with contextlib.redirect_stdout(io.StringIO()):
                found = [main(folder, ci) for ci in (False, True)]
                if found == [0, 0]:  # a run that never began
                    pathlib.Path(folder, "asan.broken").touch()
                    if main(folder, False) != 1:
                        wrong.append("a run that never began counts for nothing")
            if found != wanted:
                wrong.append(f"{status} {said!r}: expected {wanted}, got {found}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        faults = self_test()
        print("\n".join(faults) or "all in order")
        sys.exit(1 if faults else 0)
    sys.exit(main(sys.argv[1], os.environ.get("CI") == "true"))
