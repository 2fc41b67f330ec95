#!/usr/bin/env python3
"""What it costs to be looked at: instructions of an update with all counters, stamps and questions, and without.

    eyes.py PROGRAM [--quick]        PROGRAM: target/release/examples/bench of tapeline-bench

Each workload runs under callgrind with a number of updates and with three times as many, so that the start is not
counted, with everything off and with everything on. Only what hub, server and what is between them do in their turns
is counted, and not source and clients. Exit status 1 if an update takes more than 2 % more instructions.
Instruction counts do not depend on what else the machine does, but for the number of turns: the network takes a turn
more or less to bring an update. Runs are made until those that are compared have the same number, or there are many;
then the medians are compared of what all of them would have been with the same number, by what a turn more costs.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

MOST_PERCENT = 2.0
# Numbers of turns that differ by no more than this are the same, and so many runs are made to have them.
SAME_TURNS = 0.002
TRIES = 12
# Workload, arguments, updates, what it is.
WORKLOADS = (
    ("count-single", ("--items", "200"), 2_000, "one client, an update in a turn"),
    ("count-batch", ("--items", "200"), 6_400, "one client, 64 in a turn"),
    ("count-fanout", ("--fanout-items", "10"), 1_280, "to 100 mounts, 64 in a turn"),
)


def run(program, workload, arguments, updates, is_open):
    """Instructions and turns."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                   "--toggle-collect=*Turner*turn*", program, workload,
                   "--updates", str(updates), *arguments, *(["--eyes-open"] if is_open else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        turns = int(re.search(r"(\d+) turns", done.stdout).group(1))
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1)), turns


def pair(program, workload, arguments, updates):
    """Instructions with everything off and on, in the same number of turns."""
    runs = {False: [], True: []}
    for attempt in range(TRIES):
        is_open = attempt % 2 == 1
        runs[is_open].append(run(program, workload, arguments, updates, is_open))
        for off, off_turns in runs[False]:
            for on, on_turns in runs[True]:
                if abs(off_turns - on_turns) <= SAME_TURNS * off_turns:
                    return off, on
    return levelled(runs)


def levelled(runs):
    """The median of either side, if all runs had the mean number of turns. What one more costs is fitted to the
    differences within each side, so that what is compared has no part in it."""
    mean = statistics.mean(turns for side in runs.values() for _, turns in side)
    pairs = []
    for side in runs.values():
        of_side = statistics.mean(turns for _, turns in side), statistics.mean(count for count, _ in side)
        pairs += [(turns - of_side[0], count - of_side[1]) for count, turns in side]
    squares = sum(turns * turns for turns, _ in pairs)
    of_turn = sum(turns * count for turns, count in pairs) / squares if squares else 0.0
    level = {is_open: [count - of_turn * (turns - mean) for count, turns in side] for is_open, side in runs.items()}
    return statistics.median(level[False]), statistics.median(level[True])


def of_an_update(program, workload, arguments, updates):
    few = pair(program, workload, arguments, updates)
    many = pair(program, workload, arguments, 3 * updates)
    return [(many[side] - few[side]) / (2 * updates) for side in (0, 1)]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--quick"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    program, is_quick = os.path.abspath(arguments[0]), "--quick" in sys.argv
    print(f"{'workload':<14}{'off':>12}{'on':>12}{'more %':>9}  an update of")
    is_good = True
    for workload, more, updates, what in WORKLOADS[1:2] if is_quick else WORKLOADS:
        off, on = of_an_update(program, workload, more, updates)
        percent = 100 * (on - off) / off
        is_good &= percent <= MOST_PERCENT
        print(f"{workload:<14}{off:>12,.0f}{on:>12,.0f}{percent:>9.2f}  {what}", flush=True)
    print(f"aim: at most {MOST_PERCENT:.0f} % more: {'met' if is_good else 'missed'}")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
