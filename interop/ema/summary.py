#!/usr/bin/env python3
"""Which tests ran, which failed and why, and how long recoveries took, from the reports of Maven.

    summary.py --again FOLDER     the tests that failed inside the vendor's code, as Maven's -Dtest takes them
    summary.py FOLDER [AGAIN]     everything; what is in AGAIN replaces what the first run said of it

FOLDER is SUITE/target/surefire-reports, and the suite is named by that.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

# What the runtime throws where code is wrong. What the SDK throws on purpose, to say that a login was refused
# or a message is no message, is an answer to us and never an excuse.
FAULTS = ("NullPointer", "IndexOutOfBounds", "ConcurrentModification", "ClassCast", "NegativeArraySize")
VENDOR = ("com.refinitiv.", "com.thomsonreuters.")
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


def vendor_fault(why):
    """The exception of a failure and where it was thrown, if the runtime threw it inside the vendor's code."""
    cause = re.split(r"^Caused by: ", why.strip(), flags=re.MULTILINE)[-1]
    head, *rest = cause.splitlines() or [""]
    exception = head.split(":", 1)[0].strip()
    frame = next((line.strip() for line in rest if line.strip().startswith("at ")), "")
    place = re.sub(r"^at (\S+/)?", "", frame)
    is_fault = any(exception.endswith(f"{fault}Exception") for fault in FAULTS)
    return f"{exception} at {place}" if is_fault and place.startswith(VENDOR) else None


def fault_beside(output):
    """The first such exception in what a class printed: one that ended a thread of the SDK, while the test waited
    in vain for what that thread was to bring."""
    for at in re.finditer(r"^(?:Exception in thread \"[^\"]*\" |Caused by: )?([\w.]+Exception\b.*\n\s+at .*)", output,
                          flags=re.MULTILINE):
        if fault := vendor_fault(at.group(1)):
            return fault
    return None


def faults(folder):
    """The failed tests to repeat, with the fault of each. What a class printed counts if one test of it failed."""
    failed = [case for case in cases(folder) if case[2] == "failed"]
    found = {}
    for short, name, _, why in failed:
        fault = vendor_fault(why)
        if not fault and sum(case[0] == short for case in failed) == 1:
            fault = fault_beside("\n".join(output(folder, short)))
        if fault:
            found[short, name] = fault
    return found


def repeated(first, second, why):
    """The cases of a run, those that ran again by their second outcome; and a line for each of these."""
    anew = {case[:2]: case for case in second}
    lines = [f"REPEATED {short}#{name}, which failed inside the vendor's code: {why[short, name]}; "
             f"the second time it {anew[short, name][2]}"
             for short, name, _, _ in first if (short, name) in anew]
    return [anew.get(case[:2], case) for case in first], lines


def times(folder):
    """The lines of the tests that tell how long something took."""
    found = set()
    for file in Path(folder).iterdir():
        text = file.read_text(encoding="utf-8", errors="replace")
        found.update(re.findall(r"took: ([^\n<&]*ms)", text))
    return sorted(found)


def output(folder, short):
    """What a class printed: the log of the program, exceptions of the SDK."""
    for file in Path(folder).glob(f"*.{short}-output.txt"):
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


def main():
    if sys.argv[1] == "--again":
        print(",".join(f"{short}#{name}" for short, name in faults(sys.argv[2])))
        return 0
    first, last = sys.argv[1], sys.argv[-1]
    suite = "interop/" + Path(first).resolve().parents[1].name
    all_cases, repetitions = list(cases(first)), []
    if last != first:
        all_cases, repetitions = repeated(all_cases, list(cases(last)), faults(first))
    failed = [case for case in all_cases if case[2] == "failed"]
    by_class = {}
    for short, name, outcome, _ in all_cases:
        counts = by_class.setdefault(short, {"passed": 0, "failed": 0, "skipped": 0})
        counts[outcome] += 1
    for short, counts in sorted(by_class.items()):
        text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        print(f"{suite}: {short}: {text}")
    for line in times(sys.argv[1]):
        print(f"{suite}: {line}")
    for line in repetitions:
        print(f"{suite}: {line}")
    for short, name, _, why in failed:
        print(f"{suite}: FAILED {short}#{name}")
        for line in why.strip().splitlines()[:WHY_LINES]:
            print(f"    {line[:400]}")
    for short in sorted({case[0] for case in failed}):
        print(f"{suite}: the last that {short} printed:")
        # Of the second run if it was repeated.
        for line in (list(output(last, short)) or list(output(first, short)))[-LOG_LINES:]:
            print(f"    {line[:300]}")
    passed = sum(1 for case in all_cases if case[2] == "passed")
    print(f"{suite}: {passed} passed, {len(failed)} failed; details in {suite}/target/surefire-reports")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
