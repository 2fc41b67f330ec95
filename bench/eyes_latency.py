#!/usr/bin/env python3
"""What it costs to be looked at, in time: latency with all that an operator can have, and with none of it.

    eyes_latency.py PROGRAM [RATE [TURNS [SECONDS]]]      default: 50,000 updates a second, 10 turns of 4 s

By turns a process of hub and server has no admin port, no stamps and no log, and all of it: a scrape and each of the
views a second, stamps on one message in 1,024, a line of the log for each event. Either has a source of 1,000 items of
its own, and a mount that has them open and times one update in ten. The first half second of a turn does not count.
Exit status 1 if the median of the p50 or of the p99 of the turns with all of it is more than 2 % above that of the
others, and beyond the spread of those.
"""

import os
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from drill import quantile, read
from scrape import Site

ITEMS = 1000
SETTLE_S = 0.5
MOST_MORE = 1.02
VIEWS = ["metrics", "v1/mounts?limit=50", "v1/items?limit=50", "v1/services?limit=50", "v1/hops?limit=50"]


def look(at, is_over):
    """Asks for everything once a second."""
    while not is_over.wait(1.0):
        for view in VIEWS:
            with urllib.request.urlopen(f"http://{at}/{view}", timeout=60) as answer:
                answer.read()


def turn(program, folder, is_seen, rate, seconds):
    """The latencies of a turn, in microseconds."""
    site = Site(program, folder)
    try:
        _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", rate, "-I", 0,
                                   "--stamp", "--stamp-rate", rate // 10)
        config = folder / "site.toml"
        config.write_text("[hub]\nstamp-every = 1024\n[log]\nlevel = \"info\"\n" if is_seen else
                          "[hub]\nstamp-every = 0\n[log]\nlevel = \"off\"\n")
        admin = "0" if is_seen else "off"
        _, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                               "--ni-port", "off", "--admin-port", admin)
        names, latencies = folder / "names", folder / "latency.csv"
        names.write_text("".join(f"ITEM{number}\n" for number in range(ITEMS)))
        is_over = threading.Event()
        operator = threading.Thread(target=look, args=(at.get("admin"), is_over), daemon=True)
        if is_seen:
            operator.start()
        client = site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "-d", 1,
                            "--latency-file", latencies)
        time.sleep(SETTLE_S)
        began = time.monotonic() * 1e6
        time.sleep(seconds)
        ended = time.monotonic() * 1e6
        is_over.set()
        client.terminate()
        client.wait()
        return read([latencies], [(is_seen, began, ended)])[0]
    finally:
        site.end()


def show(kept):
    """Prints a line for each kind of turn. Whether those with all of it are no worse."""
    print(f"{'':<16}{'turns':>6}{'updates timed':>15}{'p50 us':>24}{'p99 us, median (least to most)':>34}")
    of = {}
    for is_seen, name in ((False, "nothing"), (True, "all of it")):
        turns = [values for seen, values in kept if seen == is_seen and values]
        halves, tails = ([quantile(values, share) for values in turns] for share in (0.5, 0.99))
        spread = [f"{statistics.median(all):,.0f} ({min(all):,} to {max(all):,})" for all in (halves, tails)]
        print(f"{name:<16}{len(turns):>6}{sum(map(len, turns)):>15,}{spread[0]:>24}{spread[1]:>34}")
        of[is_seen] = halves, tails
    return all(statistics.median(seen) <= max(statistics.median(unseen) * MOST_MORE, max(unseen))
               for seen, unseen in zip(of[True], of[False]))


def main():
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    rate, turns, seconds = (int(given or usual) for given, usual in
                            zip((sys.argv[2:] + [None] * 3)[:3], (50_000, 10, 4)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    kept = []
    for number in range(turns):
        is_seen = number % 2 == 1
        with tempfile.TemporaryDirectory() as folder:
            kept.append((is_seen, turn(program, Path(folder), is_seen, rate, seconds)))
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {turns} turns", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    sys.exit(0 if show(kept) else 1)


if __name__ == "__main__":
    main()
