#!/usr/bin/env python3
"""What others feel of mounts that stop reading, and of their return.

    stopped-mounts.py PROGRAM [MOUNTS] [ITEMS] [RATE]     default: 50 mounts, 5,000 items, 20,000 updates/s
    stopped-mounts.py PROGRAM --isolation [ITEMS] [RATE]  default: 100 items, 2,000 updates/s

One source, one process of hub and server, MOUNTS clients with all items that are stopped by SIGSTOP and go on,
and a probe with 100 items that reads all the time. The server has a core for itself, all others share the rest; of
these, source and probe come first.
For each phase: the probe's latencies, and what the server used of its core.

With --isolation: 99 mounts that read beside one that stops, then 50 beside 50, in turns A B A B: A all read, B some
are stopped. All mounts have the same items. One table: the probe's latencies in A and in B, and the server's memory.
"""

import os
import signal
import sys
import time

from probe import FILL_S, PHASE_S, PROBE_ITEMS, in_folder, mounts_of, percentile, probe_of, signal_all, site


def measure(bench, mounts, items, rate):
    server, addresses = site(bench, rate)
    address = addresses["rssl"]
    stopped = mounts_of(bench, address, items, mounts)
    latencies = bench.folder / "latencies.csv"
    probe = probe_of(bench, address, PROBE_ITEMS, latencies)
    time.sleep(FILL_S)
    phases = [bench.phase("all read", server, PHASE_S)]
    signal_all(stopped, signal.SIGSTOP)
    phases += [bench.phase("they stop", server, FILL_S), bench.phase("stopped", server, PHASE_S)]
    signal_all(stopped, signal.SIGCONT)
    phases.append(bench.phase("they go on", server, PHASE_S))
    probe.send_signal(signal.SIGINT)
    probe.wait(10)
    return phases, latencies


def isolate(bench, reading, stopping, items, rate):
    """Latencies of the probe while all read and while some are stopped, each twice, and the server's memory."""
    server, addresses = site(bench, rate)
    address = addresses["rssl"]
    # The probe is one of those that read.
    mounts_of(bench, address, items, reading - 1)
    stopped = mounts_of(bench, address, items, stopping)
    latencies = bench.folder / "latencies.csv"
    probe = probe_of(bench, address, items, latencies)
    time.sleep(FILL_S / 2)
    phases = []
    for _ in range(2):
        phases.append(bench.phase("all read", server, PHASE_S))
        signal_all(stopped, signal.SIGSTOP)
        time.sleep(1)
        phases.append(bench.phase("stopped", server, PHASE_S))
        signal_all(stopped, signal.SIGCONT)
        time.sleep(2)
    probe.send_signal(signal.SIGINT)
    probe.wait(10)
    return phases, latencies


def isolation(program, items, rate):
    print(f"{'':<14}{'p50 us':>16}{'p99 us':>16}{'p99.9 us':>16}{'MiB':>14}{'count':>16}")
    print(f"{'read, stopped':<14}" + "     all    some" * 3 + "   all   some" + "     all    some")
    for reading, stopping in ((99, 1), (50, 50)):
        measured = in_folder(program, lambda bench: isolate(bench, reading, stopping, items, rate))
        turns = {name: [rows for phase, rows in measured if phase.name == name] for name in ("all read", "stopped")}
        alls, some = (sorted(sum(turns[name], [])) for name in ("all read", "stopped"))
        memory = {phase.name: phase.memory for phase, _ in measured}
        line = f"{f'{reading}, {stopping}':<14}"
        for share in (0.5, 0.99, 0.999):
            line += f"{percentile(alls, share):>8.0f}{percentile(some, share):>8.0f}"
        line += f"{memory['all read']:>6.0f}{memory['stopped']:>7.0f}{len(alls):>8}{len(some):>8}"
        print(line)
        # One turn beside the other says how far the machine itself strays.
        for name, rows in turns.items():
            print(f"    {name}: p99.9 in turns " + ", ".join(f"{percentile(row, 0.999):.0f}" for row in rows))


def main():
    program, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if arguments[:1] == ["--isolation"]:
        items, rate = (int(value) for value in (arguments[1:] + ["100", "2000"][len(arguments) - 1:])[:2])
        return isolation(program, items, rate)
    mounts, items, rate = (int(value) for value in (arguments + ["50", "5000", "20000"][len(arguments):])[:3])
    measured = in_folder(program, lambda bench: measure(bench, mounts, items, rate))
    print(f"{'phase':<12}{'p50 us':>10}{'p99 us':>10}{'p99.9 us':>10}{'max us':>10}{'core':>8}{'MiB':>8}{'count':>8}")
    for phase, rows in measured:
        values = [percentile(rows, share) for share in (0.5, 0.99, 0.999, 1.0)]
        print(f"{phase.name:<12}" + "".join(f"{value:>10.0f}" for value in values)
              + f"{phase.core:>8.2f}{phase.memory:>8.0f}{len(rows):>8}")


if __name__ == "__main__":
    main()
