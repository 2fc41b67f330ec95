#!/usr/bin/env python3
"""Whether it is felt when somebody looks: latency while an operator drills down, and while nobody does.

    drill.py PROGRAM [ITEMS [RATE [SECONDS]]]      default: 1,000,000 items, 300,000 updates a second, 60 s

One source that updates ITEMS items, one process of hub and server, mounts that have all of them open between them. By
turns of SECONDS / 12 nobody looks at it, and somebody pages through its items, sorts them, filters them and looks at
its mounts, four questions a second. Updates that carry the time say how long they took. Exit status 1 if the
median of the p99 of the turns with questions is above that of all other turns.
"""

import csv
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from scrape import Site

MOUNTS = 4
TURNS = 12
STAMPS_PER_S = 3000
SETTLE_S = 0.5
# Between an answer and the next question, as of one who reads what comes.
READING_S = 0.25
QUESTIONS = ["items?limit=200", "items?by=watchers&limit=50", "items?by=messagesPerS&limit=50",
             "items?filter=ITEM77777&limit=50", "mounts?limit=50", "services?limit=50"]


def ask(at, question):
    with urllib.request.urlopen(f"http://{at}/v1/{question}", timeout=60) as answer:
        return json.load(answer)


class Operator(threading.Thread):
    """Asks, whenever it is let."""

    def __init__(self, at):
        super().__init__(daemon=True)
        self.at, self.may, self.took = at, threading.Event(), []
        self.place = 0

    def run(self):
        while True:
            for question in QUESTIONS:
                self.may.wait()
                began = time.monotonic()
                paged = f"{question}&at=server&from={self.place}" if question == QUESTIONS[0] else question
                answer = ask(self.at, paged)
                self.took.append(time.monotonic() - began)
                time.sleep(READING_S)
                if question == QUESTIONS[0]:
                    self.place = answer.get("next", {}).get("server", 0)


def start(site, items, rate):
    _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", rate, "-I", 0,
                               "--stamp", "--stamp-rate", STAMPS_PER_S)
    config = site.folder / "site.toml"
    config.write_text("[hub]\nmax-items = 16000000\n[server]\nmax-items = 16000000\nitem-limit = 16000000\nitem-limit-per-mount = 16000000\n")
    _, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                "--ni-port", "off", "--admin-port", 0)
    latencies = []
    for mount in range(MOUNTS):
        names = site.folder / f"names-{mount}"
        names.write_text("".join(f"ITEM{number}\n" for number in range(mount, items, MOUNTS)))
        latencies.append(site.folder / f"latency-{mount}.csv")
        site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "-d", 1,
                   "--latency-file", latencies[-1])
    return at["admin"], latencies


def count(at, view, column):
    return max((row.get(column, 0) for row in ask(at, view).get("rows", [])), default=0)


def until_open(at, items):
    began = time.monotonic()
    while (have := count(at, "services", "items")) < items:
        if time.monotonic() - began > 300:
            sys.exit(f"after 300 s {have:,} of {items:,} items are open")
        if sys.stderr.isatty():
            print(f"\r{have:,} items are open", end="", file=sys.stderr)
        time.sleep(1)


def measure(operator, seconds):
    """When nobody looked, and when somebody did, in microseconds of the clock of the time stamps."""
    turns = []
    for turn in range(TURNS):
        is_looked_at = turn % 2 == 1
        operator.may.set() if is_looked_at else operator.may.clear()
        time.sleep(SETTLE_S)
        began = time.monotonic() * 1e6
        time.sleep(seconds / TURNS)
        turns.append((is_looked_at, began, time.monotonic() * 1e6))
    operator.may.clear()
    return turns


def read(files, turns):
    """The latencies of each turn, in microseconds."""
    kept = [[] for _ in turns]
    for file in files:
        with open(file) as lines:
            for line in csv.DictReader(lines):
                at = int(line["received_us"])
                for place, (_, began, ended) in enumerate(turns):
                    if began <= at < ended:
                        kept[place].append(int(line["latency_us"]))
    return kept


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def show(turns, kept, took):
    """Prints a line for each kind of turn. Whether those with questions are no worse."""
    print(f"{'':<18}{'turns':>6}{'updates timed':>15}{'p50 us':>9}{'p99 us, median (least to most)':>34}")
    worst = {}
    for looked_at, name in ((False, "nobody looks"), (True, "somebody looks")):
        mine = [values for (is_looked_at, *_), values in zip(turns, kept) if is_looked_at == looked_at and values]
        p99 = [quantile(values, 0.99) for values in mine]
        p50 = statistics.median(quantile(values, 0.5) for values in mine)
        spread = f"{statistics.median(p99):,.0f} ({min(p99):,} to {max(p99):,})"
        print(f"{name:<18}{len(mine):>6}{sum(map(len, mine)):>15,}{p50:>9,.0f}{spread:>34}")
        worst[looked_at] = p99
    print(f"{len(took)} questions, each answered in {statistics.median(took) * 1000:.1f} ms (most {max(took) * 1000:.0f})")
    return statistics.median(worst[True]) <= max(worst[False])


def main():
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    items, rate, seconds = (int(given or usual) for given, usual in
                            zip((sys.argv[2:] + [None] * 3)[:3], (1_000_000, 300_000, 60)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        try:
            at, latencies = start(site, items, rate)
            until_open(at, items)
            operator = Operator(at)
            operator.start()
            turns = measure(operator, seconds)
            for client in site.processes[-MOUNTS:]:
                client.terminate()
                client.wait()
            is_unfelt = show(turns, read(latencies, turns), operator.took)
        finally:
            site.end()
    sys.exit(0 if is_unfelt else 1)


if __name__ == "__main__":
    main()
