"""Adds up JUnit files of ctest and pytest: what failed and was skipped, and why; then the totals.

    summary.py LABEL=FILE...

A file that is not there, cannot be read or holds no test counts as one failure: a run that died
or tested nothing must not look like a run that passed.  Exit status 1 if anything failed.
"""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

LINES = 25  # of what a failed test said


def outcomes(path):
    """(name, "passed" | "failed" | "skipped", why) of each test in a file."""
    for case in ET.parse(path).iter("testcase"):
        # ctest repeats the name as the class.
        name = ".".join(dict.fromkeys(filter(None, [case.get("classname"), case.get("name")])))
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        failure = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
        # Catch2 2 has no SKIP: our stand-in for it warns and passes.
        warned = re.search(r"^\s*skipped: (.*)", output, re.MULTILINE)
        if failure is not None:
            yield name, "failed", (failure.text or output or failure.get("message", "")).strip()
        elif warned:
            yield name, "skipped", warned[1]
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            yield name, "skipped", reason(skipped, output)
        else:
            yield name, "passed", ""


def reason(skipped, output):
    # pytest has it in the message; Catch2 3 prints it below "SKIPPED:" and "explicitly with message:".
    said = re.search(r"explicitly with message:\s*(.*)", output)
    message = skipped.get("message") if skipped is not None else None
    return said[1] if said else message or "no reason given"


def read(path):
    try:
        return list(outcomes(path)) or [(Path(path).stem, "failed", "no test ran")]
    except (OSError, ET.ParseError):
        return [(Path(path).stem, "failed", "did not run to its end")]


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    told = {"failed": [], "skipped": []}
    for argument in sys.argv[1:]:
        label, _, path = argument.partition("=")
        for name, outcome, why in read(path):
            counts[outcome] += 1
            if outcome != "passed":
                told[outcome].append((f"{label}: {name}", why))
    for name, why in told["failed"]:
        print(f"failed: {name}", *why.splitlines()[-LINES:], sep="\n    ")
    for name, why in told["skipped"]:
        print(f"skipped: {name}: {why}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
