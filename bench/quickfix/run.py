#!/usr/bin/env python3
"""What a FIX message costs here and in QuickFIX for C++, at the same bytes, in turns.

    run.py

Builds both programs (crates/fix/examples/codec.rs, codec.cc), and needs libquickfix-dev and a C++
compiler; where they are missing, it says so and ends with status 0. With valgrind, instructions are
counted as well. A message's cost is the difference of two runs by the difference of their counts,
so that what a start costs is in neither.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ROWS = {"order": "read an order", "report": "write a report"}
TURNS = 11
FEW, MANY = 100_000, 500_000
# Under valgrind, where each is fifty times as long.
FEW_COUNTED, MANY_COUNTED = 1_000, 11_000
GOAL = 5


def build(folder):
    """Both programs, or None and why not."""
    theirs = folder / "quickfix-codec"
    if not shutil.which("c++"):
        return None, "there is no C++ compiler (g++)"
    command = ["c++", "-std=c++14", "-O2", "-w", "-o", theirs, HERE / "codec.cc", "-lquickfix"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        return None, "codec.cc does not build; it needs libquickfix-dev\n" + built.stderr[:400]
    cargo = os.environ.get("CARGO", "cargo")
    example = ["build", "--release", "--quiet", "--locked", "-p", "tapeline-fix", "--example", "codec"]
    subprocess.run([cargo, *example], cwd=ROOT, check=True)
    return (TARGET / "release" / "examples" / "codec", theirs), None


def fields(message):
    """The fields of a message without its length and checksum, in any order."""
    all_fields = message.strip("\x01").split("\x01")
    return sorted(field for field in all_fields if not field.startswith(("9=", "10=")))


def same_work(ours, theirs, folder):
    """The order's bytes in a file, after a look whether both make the same report of it."""
    printed = subprocess.run([ours, "bytes"], capture_output=True, text=True, check=True).stdout
    order, report = (line.replace("|", "\x01") for line in printed.splitlines())
    file = folder / "order"
    file.write_text(order)
    command = [theirs, "bytes", "1", file]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if fields(report) != fields(other):
        sys.exit(f"the reports are not the same:\n{fields(report)}\n{fields(other)}")
    return file


def took_ns(command, few, many):
    def once(count):
        begun = time.perf_counter_ns()
        subprocess.run([word if word != "COUNT" else str(count) for word in command], check=True)
        return time.perf_counter_ns() - begun

    short = once(few)
    return (once(many) - short) / (many - few)


def instructions(command, few, many):
    def once(count):
        words = [word if word != "COUNT" else str(count) for word in command]
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        run = subprocess.run([*tool, *words], capture_output=True, text=True, check=True)
        lines = [line for line in run.stderr.splitlines() if "Collected" in line]
        return int(lines[0].rsplit(":", 1)[1])

    return (once(many) - once(few)) / (many - few)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        programs, why = build(folder)
        if not programs:
            print(f"bench-exchange: QuickFIX is left out: {why}", file=sys.stderr)
            return
        ours, theirs = programs
        file = same_work(ours, theirs, folder)
        print(f"{'a FIX message':<16}{'tapeline':>12}{'QuickFIX':>12}{'ratio':>8}   (goal {GOAL})")
        for row, title in ROWS.items():
            pair = [ours, row, "COUNT"], [theirs, row, "COUNT", file]
            turns = [[took_ns(command, FEW, MANY) for command in pair] for _ in range(TURNS)]
            show(title, "ns", [statistics.median(side) for side in zip(*turns)])
            if shutil.which("valgrind"):
                show("", "instructions", [instructions(command, FEW_COUNTED, MANY_COUNTED) for command in pair])


def show(title, unit, sides):
    own, other = sides
    print(f"{title:<16}{own:>12,.0f}{other:>12,.0f}{other / own:>8.1f}   {unit}")


main()
