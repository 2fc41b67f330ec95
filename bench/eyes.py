#!/usr/bin/env python3
"""What it costs to be looked at: instructions of an update with all counters, stamps and questions, and without.

    eyes.py PROGRAM [--quick]        PROGRAM: target/release/examples/bench of tapeline-bench

Each workload runs under callgrind with a number of updates and with three times as many, so that the start is not
counted, with everything off and with everything on. Only what hub, server and what is between them do in their turns
is counted, and not source and clients. Exit status 1 if an update takes more than 2 % more instructions.
Instruction counts do not depend on what else the machine does.
"""

import os
import re
import subprocess
import sys
import tempfile

MOST_PERCENT = 2.0
# Workload, arguments, updates, what it is.
WORKLOADS = (
    ("count-single", ("--items", "200"), 2_000, "one client, an update in a turn"),
    ("count-batch", ("--items", "200"), 6_400, "one client, 64 in a turn"),
    ("count-fanout", ("--fanout-items", "10"), 1_280, "to 100 mounts, 64 in a turn"),
)


def instructions(program, workload, arguments, updates, is_open):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                   "--toggle-collect=*Turner*turn*", program, workload,
                   "--updates", str(updates), *arguments, *(["--eyes-open"] if is_open else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def of_an_update(program, workload, arguments, updates, is_open):
    few = instructions(program, workload, arguments, updates, is_open)
    many = instructions(program, workload, arguments, 3 * updates, is_open)
    return (many - few) / (2 * updates)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--quick"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    program, is_quick = os.path.abspath(arguments[0]), "--quick" in sys.argv
    print(f"{'workload':<14}{'off':>12}{'on':>12}{'more %':>9}  an update of")
    is_good = True
    for workload, more, updates, what in WORKLOADS[1:2] if is_quick else WORKLOADS:
        off = of_an_update(program, workload, more, updates, False)
        on = of_an_update(program, workload, more, updates, True)
        percent = 100 * (on - off) / off
        is_good &= percent <= MOST_PERCENT
        print(f"{workload:<14}{off:>12,.0f}{on:>12,.0f}{percent:>9.2f}  {what}", flush=True)
    print(f"aim: at most {MOST_PERCENT:.0f} % more: {'met' if is_good else 'missed'}")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
