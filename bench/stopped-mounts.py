#!/usr/bin/env python3
"""What others feel of mounts that stop reading, and of their return.

    stopped-mounts.py PROGRAM [MOUNTS] [ITEMS] [RATE]     default: 50 mounts, 5,000 items, 20,000 updates/s

One source, one process of hub and server, MOUNTS clients with all items that are stopped by SIGSTOP and go on,
and a probe with 100 items that reads all the time. The server has a core for itself, all others share the rest; of
these, source and probe come first.
For each phase: the probe's latencies, and what the server used of its core.
"""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PHASE_S = 8
FILL_S = 10
PROBE_ITEMS = 100
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

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def names(folder, count):
    file = folder / f"names-{count}"
    file.write_text("".join(f"ITEM{number}\n" for number in range(count)))
    return file


def measure(bench, mounts, items, rate):
    rest = f"1-{os.cpu_count() - 1}"
    port = 24_002
    bench.start(rest, "source", "--listen", f"127.0.0.1:{port}", "-S", "FEED", "--rate", rate,
                "--stamp-rate", min(rate, 5_000))
    server, addresses = bench.ready("0", "run", "--source", f"127.0.0.1:{port}", "--rssl-port", 0, "--ni-port", 0,
                                    *os.environ.get("RUN_ARGUMENTS", "--backbone aeron:ipc").split())
    address = addresses["rssl"]
    stopped = [bench.start(rest, "client", "--server", address, "-S", "FEED", "-f", names(bench.folder, items),
                           "--statistics", "-I", 0, "-d", 0, yields=True) for _ in range(mounts)]
    latencies = bench.folder / "latencies.csv"
    probe = bench.start(rest, "client", "--server", address, "-S", "FEED", "-f", names(bench.folder, PROBE_ITEMS),
                        "--latency-file", latencies, "-I", 0)
    time.sleep(FILL_S)
    phases = []

    def phase(name, seconds):
        used, start = processor_s(server), time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        phases.append((name, start, end, (processor_s(server) - used) / (end - start), memory_mib(server)))

    phase("all read", PHASE_S)
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    phase("they stop", FILL_S)
    phase("stopped", PHASE_S)
    for process in stopped:
        process.send_signal(signal.SIGCONT)
    phase("they go on", PHASE_S)
    probe.send_signal(signal.SIGINT)
    probe.wait(10)
    return phases, latencies


def main():
    program = os.path.abspath(sys.argv[1])
    mounts, items, rate = (int(value) for value in (sys.argv[2:] + ["50", "5000", "20000"][len(sys.argv) - 2:])[:3])
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(program, Path(name))
        try:
            phases, latencies = measure(bench, mounts, items, rate)
        finally:
            bench.end()
        with open(latencies, newline="") as file:
            rows = list(csv.reader(file))
        print(f"{'phase':<12}{'p50 us':>10}{'p99 us':>10}{'p99.9 us':>10}{'max us':>10}{'core':>8}{'MiB':>8}{'count':>8}")
        for phase, start, end, core, memory in phases:
            found = sorted(float(row[2]) for row in rows[1:] if start <= float(row[0]) / 1e6 < end)
            values = [percentile(found, share) for share in (0.5, 0.99, 0.999, 1.0)]
            print(f"{phase:<12}" + "".join(f"{value:>10.0f}" for value in values)
                  + f"{core:>8.2f}{memory:>8.0f}{len(found):>8}")


if __name__ == "__main__":
    main()
