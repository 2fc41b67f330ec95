#!/usr/bin/env python3
"""Which tests ran, which failed and why, and how long recoveries took, from the reports of Maven."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

WHY_LINES = 12
LOG_LINES = 60


def cases(folder):
    """Every test case of every report: class, name, outcome, text."""
    for report in sorted(Path(folder).glob("TEST-*.xml")):
        text = report.read_text(encoding="utf-8", errors="replace")
        # What a test printed may hold bytes that XML does not allow.
        text = re.sub(r"<system-(out|err)>.*?</system-\1>", "", text, flags=re.DOTALL)
        for case in ElementTree.fromstring(text).iter("testcase"):
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            name = re.sub(r"\(.*\)", "", case.get("name"))
            short = case.get("classname").rsplit(".", 1)[-1]
            if bad is not None:
                yield short, name, "failed", bad.text or bad.get("message") or ""
            elif case.find("skipped") is not None:
                yield short, name, "skipped", ""
            else:
                yield short, name, "passed", ""


def times(folder):
    """The lines of the tests that tell how long something took."""
    found = set()
    for file in Path(folder).iterdir():
        text = file.read_text(encoding="utf-8", errors="replace")
        found.update(re.findall(r"took: ([^\n<&]*ms)", text))
    return sorted(found)


def last_words(folder, short):
    """What the class of a failed test printed last: the log of the program, exceptions of the SDK."""
    for file in Path(folder).glob(f"*.{short}-output.txt"):
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]


def main():
    all_cases = list(cases(sys.argv[1]))
    failed = [case for case in all_cases if case[2] == "failed"]
    by_class = {}
    for short, name, outcome, _ in all_cases:
        counts = by_class.setdefault(short, {"passed": 0, "failed": 0, "skipped": 0})
        counts[outcome] += 1
    for short, counts in sorted(by_class.items()):
        text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        print(f"interop/ema: {short}: {text}")
    for line in times(sys.argv[1]):
        print(f"interop/ema: {line}")
    for short, name, _, why in failed:
        print(f"interop/ema: FAILED {short}#{name}")
        for line in why.strip().splitlines()[:WHY_LINES]:
            print(f"    {line[:400]}")
    for short in sorted({case[0] for case in failed}):
        print(f"interop/ema: the last that {short} printed:")
        for line in last_words(sys.argv[1], short):
            print(f"    {line[:300]}")
    passed = sum(1 for case in all_cases if case[2] == "passed")
    print(f"interop/ema: {passed} passed, {len(failed)} failed; details in interop/ema/target/surefire-reports")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
