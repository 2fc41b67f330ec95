#!/usr/bin/env python3
"""Whether a server says in time that it comes near what this machine can do.

    knee.py TAPELINE LAB [--knee FILE]      TAPELINE, LAB: target/release/tapeline and tapeline-lab

The knee is found (`bench knee`, some minutes) unless a file is given. Then a process of hub and server, whose profile
has it, gets half of its updates a second, of which it has nothing to say, and three quarters of them, of which it has
to say so within two seconds, with the name of the thread. There is one mount, so that as much goes out as comes in, and
the lower of the two rates of the knee counts. Exit status 1 otherwise.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scrape import Site

ITEMS = 1000
CALM_S = 6
MOST_S = 2.0
# At 70 % and at 90 %.
WORD = re.compile(r"(?:the busiest 10 ms of a second took much|updates come late soon).*?thread=(\S+)")


def found(lab, folder):
    """The file with the knee of this machine."""
    file = folder / "knee.json"
    done = subprocess.run([lab, "bench", "knee", "--write", file], stdout=sys.stderr)
    if done.returncode != 0:
        sys.exit("no knee was found: the machine is busy")
    return file


def said(folder, until):
    """Who said it; `None` if nobody did by then."""
    log = folder / "log"
    while time.monotonic() < until:
        if word := WORD.search(log.read_text()):
            return word[1]
        time.sleep(0.02)
    return None


def load(program, knee, share, patience_s):
    """Who said that it is near, and after how many seconds."""
    rates = json.loads(knee.read_text())
    rate = int(min(rates["updatesInPerS"], rates["updatesOutPerS"]) * share)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = Site(program, folder)
        try:
            config = folder / "site.toml"
            config.write_text(f"[profile]\nknee = {json.dumps(str(knee))}\n")
            _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", rate, "-I", 0)
            _, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                   "--ni-port", "off", "--admin-port", "off")
            names = folder / "names"
            names.write_text("".join(f"ITEM{number}\n" for number in range(ITEMS)))
            site.start("client", "--server", at["rssl"], "-S", "FEED", "-f", names, "-I", 0, "--statistics", "-d", 0)
            began = time.monotonic()
            thread = said(folder, began + patience_s)
            print(f"{share:>5.0%} of the knee, {rate:>9,} updates/s: " +
                  (f"{thread} says so after {time.monotonic() - began:.2f} s" if thread else "nothing is said"))
            return thread, time.monotonic() - began
        finally:
            site.end()


def main():
    given = sys.argv[1:]
    if len(given) not in (2, 4) or given[2:3] not in ([], ["--knee"]):
        sys.exit(__doc__)
    program, lab = (os.path.abspath(path) for path in given[:2])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        knee = Path(os.path.abspath(given[3])) if given[2:] else found(lab, Path(folder))
        print(f"knee: {knee.read_text().strip()}")
        calm, _ = load(program, knee, 0.5, CALM_S)
        near, after_s = load(program, knee, 0.75, 5 * MOST_S)
    sys.exit(0 if calm is None and near is not None and after_s <= MOST_S else 1)


if __name__ == "__main__":
    main()
