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

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PHASE_S = 8
FILL_S = 10
PROBE_ITEMS = 100
# Where all but the server run.
REST = f"1-{os.cpu_count() - 1}"
# Has the stopped clients run only when neither source nor probe wants the core: what the probe waits for then is
# the server.
YIELD = ["chrt", "--idle", "0"]


def percentile(ordered, share):
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("nan")


def processor_s(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(process):
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def rows_of(latencies, phase):
    """What was measured in a phase: latencies in microseconds, in order."""
    with open(latencies, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return sorted(float(row[2]) for row in rows if phase.start <= float(row[0]) / 1e6 < phase.end)


@dataclass
class Phase:
    name: str
    start: float
    end: float
    core: float
    memory: float


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder, self.processes = program, folder, []

    def start(self, cores, *arguments, yields=False):
        command = [*YIELD * yields, "taskset", "-c", cores, self.program, *map(str, arguments)]
        log = open(self.folder / "log", "ab")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def ready(self, cores, *arguments):
        file = self.folder / f"ready-{len(self.processes)}"
        process = self.start(cores, *arguments, "--ready-file", file)
        while not file.exists():
            if process.poll() is not None:
                sys.exit(f"{arguments[0]} ended: {(self.folder / 'log').read_text()}")
            time.sleep(0.01)
        return process, dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)

    def phase(self, name, server, seconds):
        used, start = processor_s(server), time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        return Phase(name, start, end, (processor_s(server) - used) / (end - start), memory_mib(server))

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def names(folder, count):
    file = folder / f"names-{count}"
    file.write_text("".join(f"ITEM{number}\n" for number in range(count)))
    return file


def site(bench, rate):
    """Source, and hub and server in one process on a core of its own: the server, and where it is."""
    port = 24_002
    bench.start(REST, "source", "--listen", f"127.0.0.1:{port}", "-S", "FEED", "--rate", rate,
                "--stamp-rate", min(rate, 5_000))
    server, addresses = bench.ready("0", "run", "--source", f"127.0.0.1:{port}", "--rssl-port", 0, "--ni-port", 0,
                                    *os.environ.get("RUN_ARGUMENTS", "--backbone aeron:ipc").split())
    return server, addresses["rssl"]


def mounts_of(bench, address, items, count):
    """So many mounts that measure nothing."""
    return [bench.start(REST, "client", "--server", address, "-S", "FEED", "-f", names(bench.folder, items),
                        "--statistics", "-I", 0, "-d", 0, yields=True) for _ in range(count)]


def probe_of(bench, address, items, latencies):
    return bench.start(REST, "client", "--server", address, "-S", "FEED", "-f", names(bench.folder, items),
                       "--latency-file", latencies, "-I", 0)


def signal_all(processes, number):
    for process in processes:
        process.send_signal(number)


def measure(bench, mounts, items, rate):
    server, address = site(bench, rate)
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
    server, address = site(bench, rate)
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


def in_folder(program, work):
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(program, Path(name))
        try:
            phases, latencies = work(bench)
        finally:
            bench.end()
        return [(phase, rows_of(latencies, phase)) for phase in phases]


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
