#!/usr/bin/env python3
"""Whether anything grows: mounts and items come and go, for as long as is asked.

    soak.py PROGRAM [SECONDS] [--out FOLDER]     default: 3,600 s, into the folder where it is started

One source, one process of hub and server, a probe that has 100 items all the time, and ten mounts at a time that
live for 2 to 10 seconds with items of their own choice. Every SAMPLE_S: the server's own memory, its descriptors, and
the probe's p50 and p99.9 since the last sample. Written: soak.csv and soak.svg. Exit status 1 if memory or
descriptors of the last third are above those of the middle third by more than noise, or latency is.
"""

import csv
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLE_S = 5
CHURNING = 10
ITEMS = 2_000
ITEMS_OF_ONE = 200
RATE = 5_000
STAMPS = 1_000
SEED = 1

# What may be more in the last third than in the middle one: a share, and an amount on top for what is small.
GROWTH = {"memory MiB": (0.10, 4), "descriptors": (0.05, 4), "p50 us": (0.50, 200)}
PLOTS = (("memory MiB", "#2563eb"), ("descriptors", "#9333ea"), ("p50 us", "#16a34a"), ("p99.9 us", "#dc2626"))


def memory_mib(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Latencies:
    """The probe's latency file, read as it grows."""

    def __init__(self, path):
        self.path, self.at, self.rest = path, 0, ""

    def take(self):
        if not self.path.exists():
            return []
        with open(self.path) as file:
            file.seek(self.at)
            text = self.rest + file.read()
            self.at = file.tell()
        lines = text.split("\n")
        self.rest = lines.pop()
        found = (line.split(",") for line in lines)
        return sorted(float(row[2]) for row in found if len(row) > 2 and row[0][:1].isdigit())


class Soak:
    def __init__(self, program, folder):
        self.program, self.folder, self.random = program, folder, random.Random(SEED)
        self.processes, self.churning, self.born = [], [], 0

    def start(self, *arguments):
        log = open(self.folder / "log", "ab")
        command = [self.program, *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def client(self, address, items, *more):
        file = self.folder / f"names-{self.born % 64}"
        self.born += 1
        file.write_text("".join(f"ITEM{number}\n" for number in items))
        return self.start("client", "--server", address, "-S", "FEED", "-f", file, "-I", 0, *more)

    def churn(self, address):
        now = time.monotonic()
        for process, until in self.churning:
            if now >= until:
                # Half of them say goodbye, half of them vanish.
                process.send_signal(self.random.choice([signal.SIGINT, signal.SIGKILL]))
                process.wait()
                self.processes.remove(process)
        self.churning = [(process, until) for process, until in self.churning if now < until]
        while len(self.churning) < CHURNING:
            items = self.random.sample(range(ITEMS), ITEMS_OF_ONE)
            process = self.client(address, items, "--statistics", "-d", 0)
            self.churning.append((process, now + self.random.uniform(2, 10)))

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def percentile(ordered, share):
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("nan")


def run(soak, seconds):
    port = 24_003
    soak.start("source", "--listen", f"127.0.0.1:{port}", "-S", "FEED", "--rate", RATE, "--stamp-rate", STAMPS)
    ready = soak.folder / "ready"
    server = soak.start("run", "--source", f"127.0.0.1:{port}", "--rssl-port", 0, "--ni-port", 0, "--ready-file", ready)
    while not ready.exists():
        if server.poll() is not None:
            sys.exit(f"run ended: {(soak.folder / 'log').read_text()}")
        time.sleep(0.01)
    address = dict(line.split("=", 1) for line in ready.read_text().splitlines() if "=" in line)["rssl"]
    file = soak.folder / "latencies.csv"
    soak.client(address, range(100), "--latency-file", file)
    latencies, samples, began = Latencies(file), [], time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        soak.churn(address)
        time.sleep(0.1)
        if now >= (len(samples) + 1) * SAMPLE_S:
            found = latencies.take()
            sample = {"s": round(now), "memory MiB": round(memory_mib(server.pid), 2),
                      "descriptors": descriptors(server.pid), "p50 us": percentile(found, 0.5),
                      "p99.9 us": percentile(found, 0.999), "mounts so far": soak.born}
            samples.append(sample)
            if sys.stderr.isatty():
                print("\r" + "  ".join(f"{name} {value}" for name, value in sample.items()), end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return samples


def plot(samples):
    """One strip each, with its own scale from 0."""
    width, height, left, gap = 860, 120, 90, 46
    end = max(sample["s"] for sample in samples)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 20}" '
             f'height="{len(PLOTS) * (height + gap) + 20}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    for number, (name, colour) in enumerate(PLOTS):
        values = [(sample["s"], sample[name]) for sample in samples if sample[name] == sample[name]] or [(0, 0)]
        most, top = max(value for _, value in values) * 1.1 or 1, 24 + number * (height + gap)
        points = " ".join(f"{left + s / end * width:.1f},{top + height - value / most * height:.1f}"
                          for s, value in values)
        parts += [f'<text x="{left}" y="{top - 8}">{name}</text>',
                  f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#cbd5e1"/>',
                  f'<text x="{left - 8}" y="{top + 10}" text-anchor="end">{most:.0f}</text>',
                  f'<text x="{left - 8}" y="{top + height}" text-anchor="end">0</text>',
                  f'<text x="{left + width}" y="{top + height + 16}" text-anchor="end">{end} s</text>',
                  f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    return "\n".join(parts + ["</svg>", ""])


def middle_of(samples, name):
    """The median of what there is: a busy machine may leave a sample without a latency."""
    return statistics.median([sample[name] for sample in samples if sample[name] == sample[name]] or [float("nan")])


def judge(samples):
    """What is more in the last third than in the middle one, beyond noise."""
    third = len(samples) // 3
    middle, last = samples[third:2 * third], samples[2 * third:]
    grown = []
    print(f"{'':<14}{'first third':>14}{'middle':>14}{'last':>14}")
    for name, _ in PLOTS:
        thirds = [middle_of(part, name) for part in (samples[:third], middle, last)]
        print(f"{name:<14}" + "".join(f"{value:>14.1f}" for value in thirds))
        share, amount = GROWTH.get(name, (float("inf"), 0))
        if thirds[2] > thirds[1] * (1 + share) + amount:
            grown.append(name)
    return grown


def main():
    arguments = sys.argv[1:]
    out = Path(".")
    if "--out" in arguments:
        place = arguments.index("--out")
        out = Path(arguments[place + 1])
        del arguments[place:place + 2]
    program, seconds = os.path.abspath(arguments[0]), int((arguments[1:] + ["3600"])[0])
    with tempfile.TemporaryDirectory() as name:
        soak = Soak(program, Path(name))
        try:
            samples = run(soak, seconds)
        finally:
            soak.end()
    if len(samples) < 6:
        sys.exit(f"{len(samples)} samples say nothing; give at least {6 * SAMPLE_S + SAMPLE_S} seconds")
    with open(out / "soak.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, samples[0].keys())
        writer.writeheader()
        writer.writerows(samples)
    (out / "soak.svg").write_text(plot(samples))
    grown = judge(samples)
    print(f"{samples[-1]['mounts so far']} mounts came and went in {seconds} s; "
          + (f"grown: {', '.join(grown)}" if grown else "nothing grew"))
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
