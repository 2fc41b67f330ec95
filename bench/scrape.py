#!/usr/bin/env python3
"""Whether being scraped costs memory: /metrics again and again, for as long as is asked.

    scrape.py PROGRAM [SECONDS] [--every SECONDS]      default: 600 s, each 0.05 s: 12,000 scrapes
    scrape.py PROGRAM --cost [MOUNTS]                  default: 1,000 mounts
    scrape.py --self-test

One source, and two processes of hub and server, each with 200 items that are updated and 20 mounts. One of them is
scraped; the other is its twin, which is not. Sampled: how much more memory of its own (RssAnon) and how many more
descriptors the first one has. Exit status 1 if either grows with the scrapes.

What grows with time is in both: rings between hub and server are memory page by page as they are written to for the
first time, which takes presence some twenty minutes. Judged is the second half, in eight parts of as many scrapes:
what grows with each scrape is more in each part than in the one before. What comes once, a buffer that finds its size
or a page of the allocator, is more in one of them, and what comes in the first half is warm-up. So the median of the
seven steps counts, by the scrapes of a part.

With --self-test: whether series of samples that grow are told from such that do not.

With --cost: how much of its second a scrape takes from the thread of hub and server while MOUNTS are logged in and
nothing else happens, 200 scrapes in turns with as much time without.
"""

import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from json_mount import JsonMount

MOUNTS = 20
ITEMS = 200
RATE = 1_000
PARTS = 8
# What a scrape may leave, by the median of the steps: less than a page in each part of a run of ten minutes.
MAY_LEAVE = {"memory KiB": 4 / 1024, "descriptors": 1 / 1000}


def left_by_scrape(values):
    """What a scrape leaves for good, by the second half of the samples; and the parts of that half."""
    half = values[len(values) // 2:]
    length = len(half) // PARTS
    parts = [statistics.median(half[part * length:(part + 1) * length]) for part in range(PARTS)]
    return statistics.median(after - before for before, after in zip(parts, parts[1:])) / length, parts


def self_test():
    chance = random.Random(1)

    def series(of_scrape, step_at=None, noise=8):
        """KiB of 12,000 scrapes: a warm-up of 700, steps of 256, and so many bytes that each scrape leaves."""
        warm = [min(scrape / 4, 700) for scrape in range(12_000)]
        steps = [256 if step_at is not None and scrape >= step_at else 0 for scrape in range(12_000)]
        # The kernel counts pages.
        return [(9_000 + warm[at] + steps[at] + at * of_scrape / 1024 + chance.uniform(0, noise)) // 4 * 4
                for at in range(12_000)]

    cases = [("nothing", series(0), False), ("a step in the first half", series(0, 4_000), False),
             ("a step in the second half", series(0, 9_300), False), ("16 bytes a scrape", series(16), True),
             ("64 bytes a scrape, and a step", series(64, 9_300), True)]
    wrong = 0
    for what, values, grows in cases:
        left, _ = left_by_scrape(values)
        wrong += (left > MAY_LEAVE["memory KiB"]) != grows
        print(f"{what:<32}{left * 1024:8.1f} bytes a scrape: {'grows' if left > MAY_LEAVE['memory KiB'] else 'stays'}")
    sys.exit(1 if wrong else 0)


def memory_kib(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1])


class Site:
    def __init__(self, program, folder):
        self.program, self.folder, self.processes = program, folder, []

    def start(self, *arguments):
        log = open(self.folder / "log", "ab")
        command = [self.program, *map(str, arguments)]
        self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        return self.processes[-1]

    def addresses(self, *arguments):
        """Starts one that says where it listens."""
        ready = self.folder / f"ready-{len(self.processes)}"
        process = self.start(*arguments, "--ready-file", ready)
        until = time.monotonic() + 60
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"it did not start: {(self.folder / 'log').read_text()}")
            time.sleep(0.01)
        return process, dict(line.split("=", 1) for line in ready.read_text().splitlines() if "=" in line)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def server_with_mounts(site, source, names, config):
    server, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                "--ni-port", "off", "--admin-port", 0)
    for _ in range(MOUNTS):
        site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "--statistics", "-d", 0)
    return server, at


def sample(process):
    return {"memory KiB": memory_kib(process.pid), "descriptors": len(os.listdir(f"/proc/{process.pid}/fd"))}


def run(site, seconds, every):
    _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", RATE, "-I", 0)
    config = site.folder / "site.toml"
    config.write_text("[server]\nmax-mounts = 200\n")
    names = site.folder / "names"
    names.write_text("".join(f"ITEM{number}\n" for number in range(ITEMS)))
    twin, _ = server_with_mounts(site, source, names, config)
    server, at = server_with_mounts(site, source, names, config)
    url = f"http://{at['admin']}/metrics"
    samples, scrapes, began = [], 0, time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read()
        if not text.endswith(b"# EOF\n"):
            sys.exit(f"{url} is no OpenMetrics text")
        scrapes += 1
        samples.append((sample(server), sample(twin)))
        if sys.stderr.isatty():
            print(f"\r{now:6.0f} s  {scrapes} scrapes  {samples[-1]}", end="", file=sys.stderr)
        time.sleep(max(0.0, began + scrapes * every - time.monotonic()))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return samples, scrapes, len(text)


def cost(site, mounts):
    """Prints what a scrape takes from the thread, and how many series there are."""
    config = site.folder / "site.toml"
    config.write_text(f"[server]\nmax-mounts = {mounts}\n")
    server, at = site.addresses("run", "--config", config, "--rssl-port", 0, "--ws-port", 0, "--ni-port", 0,
                                "--admin-port", 0)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept = [JsonMount(at["ws"], f"user{number}") for number in range(mounts)]
    url = f"http://{at['admin']}/metrics"

    def scrape():
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()

    def busy_s():
        lines = (line for line in scrape().splitlines() if line.startswith("tapeline_thread_busy_seconds_total"))
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    time.sleep(1)
    scrapes, costs = 40, []
    for _ in range(5):
        before, began = busy_s(), time.monotonic()
        for _ in range(scrapes - 1):
            scrape()
        after, took = busy_s(), time.monotonic() - began
        time.sleep(took)
        idle = busy_s() - after
        costs.append((after - before - idle) / scrapes)
    series = sum(not line.startswith("#") for line in scrape().splitlines())
    of_a_second = statistics.median(costs)
    print(f"{len(kept)} mounts, {series:,} series; a scrape takes {of_a_second * 1e6:,.0f} us of the thread "
          f"(turns: {', '.join(f'{each * 1e6:,.0f}' for each in costs)}), each second {of_a_second:.3%} of it")
    sys.exit(0 if of_a_second < 0.001 else 1)


def main():
    if sys.argv[2:3] == ["--cost"]:
        with tempfile.TemporaryDirectory() as name:
            site = Site(os.path.abspath(sys.argv[1]), Path(name))
            try:
                cost(site, int((sys.argv[3:] + ["1000"])[0]))
            finally:
                site.end()
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    arguments, every = sys.argv[1:], 0.05
    if "--every" in arguments:
        place = arguments.index("--every")
        every = float(arguments[place + 1])
        del arguments[place:place + 2]
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    program, seconds = os.path.abspath(arguments[0]), float((arguments[1:] + ["600"])[0])
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        try:
            samples, scrapes, length = run(site, seconds, every)
        finally:
            site.end()
    if len(samples) < 2 * PARTS * 10:
        sys.exit(f"{len(samples)} samples say nothing; scrape longer, or more often")
    grown = []
    print(f"{'more than twin':<14}{'first half':>14}   parts of the second half")
    for what, most in MAY_LEAVE.items():
        values = [scraped[what] - of_twin[what] for scraped, of_twin in samples]
        left, parts = left_by_scrape(values)
        shown = " ".join(f"{part:,.0f}" for part in parts)
        print(f"{what:<14}{statistics.median(values[:len(values) // 2]):>14,.0f}   {shown}")
        if left > most:
            grown.append(f"{what} by {left * 1000:,.1f} in 1,000 scrapes")
    (scraped, of_twin), what = samples[-1], "memory KiB"
    print(f"at the end {scraped[what]:,} KiB, and {of_twin[what]:,} of its twin")
    print(f"{scrapes} scrapes of {length:,} bytes in {seconds:.0f} s; "
          + (f"grows: {', '.join(grown)}" if grown else "nothing grows"))
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
