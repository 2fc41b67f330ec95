"""A source, a process of hub and server, and a mount beside others whose latencies count.

The server has a core for itself, all others share the rest; of these, source and probe come first.
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
    """Source, and hub and server in one process on a core of its own: the server, and where it listens."""
    port = 24_002
    bench.start(REST, "source", "--listen", f"127.0.0.1:{port}", "-S", "FEED", "--rate", rate,
                "--stamp-rate", min(rate, 5_000))
    server, addresses = bench.ready("0", "run", "--source", f"127.0.0.1:{port}", "--rssl-port", 0, "--ws-port", 0,
                                    "--ni-port", 0, "--admin-port", 0,
                                    *os.environ.get("RUN_ARGUMENTS", "--backbone aeron:ipc").split())
    return server, addresses


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


def in_folder(program, work):
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(program, Path(name))
        try:
            phases, latencies = work(bench)
        finally:
            bench.end()
        return [(phase, rows_of(latencies, phase)) for phase in phases]
