#!/usr/bin/env python3
"""Whether being scraped costs memory: /metrics once a second, for as long as is asked.

    scrape.py PROGRAM [SECONDS] [--every SECONDS]      default: 3,600 s, each second
    scrape.py PROGRAM --cost [MOUNTS]                  default: 1,000 mounts

One source, one process of hub and server with 200 items that are updated and 20 mounts. Sampled: the process's own
memory (RssAnon) and descriptors. Exit status 1 if the last third has more of either than the first one behind the
warm-up, beyond noise.

With --cost: how much of its second a scrape takes from the thread of hub and server while MOUNTS are logged in and
nothing else happens, 200 scrapes in turns with as much time without.
"""

import os
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
RATE = 100
# What may be more: pages of the allocator, and a request under way.
MORE = {"memory KiB": 512, "descriptors": 2}


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


def run(site, seconds, every):
    _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", RATE, "-I", 0)
    config = site.folder / "site.toml"
    config.write_text("[server]\nmax-mounts = 200\n")
    server, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                "--ni-port", "off", "--admin-port", 0)
    names = site.folder / "names"
    names.write_text("".join(f"ITEM{number}\n" for number in range(ITEMS)))
    for _ in range(MOUNTS):
        site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "--statistics", "-d", 0)
    url = f"http://{at['admin']}/metrics"
    samples, scrapes, began = [], 0, time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read()
        if not text.endswith(b"# EOF\n"):
            sys.exit(f"{url} is no OpenMetrics text")
        scrapes += 1
        samples.append({"memory KiB": memory_kib(server.pid), "descriptors": len(os.listdir(f"/proc/{server.pid}/fd"))})
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
    arguments, every = sys.argv[1:], 1.0
    if "--every" in arguments:
        place = arguments.index("--every")
        every = float(arguments[place + 1])
        del arguments[place:place + 2]
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    program, seconds = os.path.abspath(arguments[0]), float((arguments[1:] + ["3600"])[0])
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        try:
            samples, scrapes, length = run(site, seconds, every)
        finally:
            site.end()
    third = len(samples) // 3
    if third < 10:
        sys.exit(f"{len(samples)} samples say nothing; scrape longer, or more often")
    grown = []
    # The first ten are warm-up: mounts come, and buffers find their size.
    print(f"{'':<14}{'first third':>14}{'middle':>14}{'last':>14}")
    for what, more in MORE.items():
        parts = (samples[10:third], samples[third:2 * third], samples[2 * third:])
        first, middle, last = (statistics.median(sample[what] for sample in part) for part in parts)
        print(f"{what:<14}{first:>14,.0f}{middle:>14,.0f}{last:>14,.0f}")
        if last > first + more:
            grown.append(what)
    print(f"{scrapes} scrapes of {length:,} bytes in {seconds:.0f} s; "
          + (f"grown: {', '.join(grown)}" if grown else "nothing grew"))
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
