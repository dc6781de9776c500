"""Sums up what ctest wrote: failures and skips by name, then one closing line.

    summary.py FOLDER    of one PRESET.xml (JUnit) per run of ctest, and a PRESET.broken per run that never began

A test counts as passed, failed or skipped; a `[skip]` line of a test that passed otherwise counts as skipped too.
Ends with 1 on a failure, on no test at all, and with CI=true on a skip for want of LLVM or NVRTC.
"""

import collections
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

NEEDED_IN_CI = re.compile(r"llvm|nvrtc", re.I)


def main(folder):
    passed, failed, skips = 0, len(list(pathlib.Path(folder).glob("*.broken"))), 0
    reasons = collections.Counter()
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            lines = [line.strip() for line in output.splitlines() if line.lstrip().startswith("[skip]")]
            reasons.update(lines)
            status = case.get("status")
            if status == "fail":
                failed += 1
                print(f"[fail] {path.stem}: {case.get('name')}\n{output[-4000:]}")
            elif status == "run":
                passed += 1
                skips += len(lines)
            else:
                skips += max(1, len(lines))
                if not lines:
                    reasons[f"[skip] {case.get('name')} was not run"] += 1
    for line, count in sorted(reasons.items()):
        print(line if count == 1 else f"{line} ({count} times)")
    needed = [line for line in reasons if NEEDED_IN_CI.search(line)] if os.environ.get("CI") == "true" else []
    for line in needed:
        print(f"[fail] with CI=true this must be there: {line}")
    print(f"{passed} passed, {failed + len(needed)} failed, {skips} skipped")
    return 1 if failed or needed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
