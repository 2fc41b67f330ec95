#!/usr/bin/env python3
"""What a thousand and ten thousand mounts cost one server: memory, turns, and what is felt of them.

    mounts.py PROGRAM CROWD [--mounts COUNT,…] [--items ITEMS] [--each EACH] [--rate RATE] [--seconds SECONDS]
    default: 0,1000,10000 mounts, 10,000 items, 10 items each, 1,000 updates/s, 20 s

    CROWD is crates/bench/examples/crowd.rs: mounts over JSON in one process, which cost next to nothing.

For each count one source that updates ITEMS items, one process of hub and server with one thread for both, a mount over
RSSL that has all items open and measures, and COUNT mounts over JSON: first they are logged in and nothing else, then
each has EACH items open, which are taken in turn. A line for each state, of SECONDS after two to settle: memory of the
process (RssAnon) and what of it is more with each mount than in the line before, the part of its second in which the
thread of hub and server had something to do, and of which it and all others were on a processor, what a turn took,
messages to mounts in a second, and latency of the updates, from the source to the mount over RSSL.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from drill import quantile, read, until_open
from revoke import Users
from scrape import Site, memory_kib

SETTLE_S = 2.0
STAMPS_PER_S = 500
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
HEAD = ("mounts", "each has", "MiB", "KiB a mount", "updates out/s", "turns/s", "turn, us", "busy", "processor",
        "p50 us", "p99 us")


def counters(at):
    """All that have a number, summed over their labels."""
    with urllib.request.urlopen(f"http://{at['admin']}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    sums = {}
    for line in lines:
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            name = name.split("{", 1)[0]
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def processor_s(pid):
    """What all threads of a process were on a processor, here and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def start(site, mounts, items, rate):
    _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", rate, "-I", 0,
                               "--stamp", "--stamp-rate", min(STAMPS_PER_S, rate))
    config = site.folder / "site.toml"
    config.write_text(f"[server]\nmax-mounts = {mounts + 10}\nitem-limit = 1000000\nitem-limit-per-mount = 1000000\n")
    process, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                 "--ws-port", 0, "--ni-port", "off", "--admin-port", 0)
    names, latencies = site.folder / "names", site.folder / "latency.csv"
    names.write_text("".join(f"ITEM{number}\n" for number in range(items)))
    client = site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "-d", 1,
                        "--latency-file", latencies)
    until_open(at["admin"], items)
    return process, at, client, latencies


def state(process, at, seconds):
    """What the process did for so long: figures, and when it was, in microseconds."""
    time.sleep(SETTLE_S)
    before, on, began = counters(at), processor_s(process.pid), time.monotonic()
    time.sleep(seconds)
    ended, after = time.monotonic(), counters(at)
    took = ended - began

    def more(name):
        return (after[f"tapeline_{name}_total"] - before[f"tapeline_{name}_total"]) / took

    figures = {"kib": memory_kib(process.pid), "busy": more("thread_busy_seconds"), "turns": more("thread_turns"),
               "out": more("server_updates_out"), "processor": (processor_s(process.pid) - on) / took}
    return figures, (None, began * 1e6, ended * 1e6)


def measure(program, crowd, count, wanted):
    """(mounts, items of each, figures, latencies) of each state."""
    with tempfile.TemporaryDirectory() as name:
        site, users = Site(program, Path(name)), None
        try:
            process, at, client, latencies = start(site, count, wanted.items, wanted.rate)
            if count == 0:
                states = [(0, *state(process, at, wanted.seconds))]
            else:
                users = Users(crowd, at["ws"], count, wanted.items, wanted.each)
                states = [(0, *state(process, at, wanted.seconds))]
                users.open_all()
                states.append((wanted.each, *state(process, at, wanted.seconds)))
            client.terminate()
            client.wait()
            kept = read([latencies], [turn for *_, turn in states])
            return [(count, each, figures, values) for (each, figures, _), values in zip(states, kept)]
        finally:
            if users:
                users.process.kill()
                users.process.wait()
            site.end()


def line(row, kib_before):
    count, each, figures, values = row
    of_a_mount = f"{(figures['kib'] - kib_before) / count:.1f}" if count else "-"
    a_turn = figures["busy"] * 1e6 / max(figures["turns"], 1)
    return (f"{count:,}", f"{each} items" if each else "none", f"{figures['kib'] / 1024:.1f}", of_a_mount,
            f"{figures['out']:,.0f}", f"{figures['turns']:,.0f}", f"{a_turn:.1f}", f"{figures['busy']:.1%}",
            f"{figures['processor']:.1%}", f"{quantile(values, 0.5):,.0f}", f"{quantile(values, 0.99):,.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("crowd", type=os.path.abspath)
    parser.add_argument("--mounts", default="0,1000,10000")
    for name, usual in (("items", 10_000), ("each", 10), ("rate", 1_000), ("seconds", 20)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(f"| {' | '.join(HEAD)} |")
    print(f"|{'---:|' * len(HEAD)}")
    kib = None
    for count in map(int, wanted.mounts.split(",")):
        rows = measure(wanted.program, wanted.crowd, count, wanted)
        for row in rows:
            # The first state without mounts is what those of all others are more than.
            kib = row[2]["kib"] if kib is None else kib
            print(f"| {' | '.join(line(row, kib))} |", flush=True)


if __name__ == "__main__":
    main()
