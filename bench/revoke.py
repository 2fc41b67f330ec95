#!/usr/bin/env python3
"""How soon a thousand users have nothing left of what they may not see any more, and what others feel of it.

    revoke.py PROGRAM CROWD [USERS [ITEMS [RATE [ROUNDS [EACH]]]]]
    default: 1,000 users, 100,000 items, 300,000 updates/s, 5 rounds, 10 items each

    CROWD is crates/bench/examples/crowd.rs, the users in one process: what they cost is next to nothing.

One source that updates ITEMS items, one process of hub and server with a policy, two mounts that have all items open
between them and measure, and USERS mounts over JSON, each a user of its own with EACH of the items open. In each round the policy
is replaced by one without their role's grant; when all their streams are over it is put back, and they open them
again. Told: from the file to the last stream's end, and latencies of the two mounts before and meanwhile. Exit status
1 if a round took more than a second, or the median of the p99 meanwhile is above that of all other rounds.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from drill import quantile, read, until_open
from scrape import Site

OTHERS = 2
MOST_S = 1.0
QUIET_S = 2.0
STAMPS_PER_S = 3000
NS_PER_S = 1e9


class Users:
    """A process with all of them."""

    def __init__(self, program, address, count, items, each):
        self.process = subprocess.Popen([program, address, f"--users={count}", f"--items={items}", f"--each={each}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, what):
        """When it said so, by its own clock, which is that of time.monotonic()."""
        line = self.process.stdout.readline().split()
        if line[:1] != [what]:
            sys.exit(f"the users said {line} in place of {what}")
        return int(line[1]) / NS_PER_S if line[1:] else None

    def open_all(self):
        self.process.stdin.write("open\n")
        self.process.stdin.flush()
        self.expect("images")

    def until_over(self):
        return self.expect("over")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def policy(users, is_granted):
    subjects = '"ITEM*"' if is_granted else '"NOTHING"'
    text = f"""version = 1
[entitle]
no-lock = "subject"
[[role]]
name = "all"
grants = [{{ service = "FEED" }}]
[[role]]
name = "desk"
grants = [{{ service = "FEED", subjects = [{subjects}] }}]
[[user]]
name = "other"
roles = ["all"]
"""
    return text + "".join(f'[[user]]\nname = "user{number}"\nroles = ["desk"]\n' for number in range(users))


def put(path, text):
    """Has another policy be there, whole. When."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    began = time.monotonic()
    os.replace(fresh, path)
    return began


def start(site, path, users, items, rate):
    _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", rate, "-I", 0,
                               "--stamp", "--stamp-rate", STAMPS_PER_S)
    config = site.folder / "site.toml"
    config.write_text(f"""[server]
max-mounts = {users + 10}
item-limit = 16000000
item-limit-per-mount = 16000000
[entitle]
policy = "{path}"
""")
    _, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0, "--ws-port", 0,
                           "--ni-port", "off", "--admin-port", 0)
    latencies = []
    for mount in range(OTHERS):
        names = site.folder / f"names-{mount}"
        names.write_text("".join(f"ITEM{number}\n" for number in range(mount, items, OTHERS)))
        latencies.append(site.folder / f"latency-{mount}.csv")
        site.start("client", "--server", at["rssl"], "-S", "FEED", "-u", "other", "-f", names, "-I", 0, "-d", 1,
                   "--latency-file", latencies[-1])
    return at, latencies


def rounds_of(users, path, granted, revoked, rounds):
    """(took, [(is_meanwhile, began us, ended us)]) of each round."""
    told = []
    for number in range(rounds):
        users.open_all()
        time.sleep(1.0)
        quiet = time.monotonic()
        time.sleep(QUIET_S)
        began = put(path, revoked)
        ended = users.until_over()
        time.sleep(max(0.0, began + QUIET_S - time.monotonic()))
        told.append((ended - began, [(False, quiet * 1e6, began * 1e6), (True, began * 1e6, (began + QUIET_S) * 1e6)]))
        put(path, granted)
        time.sleep(1.5)
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {rounds}: {ended - began:.3f} s", end="", file=sys.stderr)
    return told


def show(told, kept):
    took = [round_took for round_took, _ in told]
    print(f"from the file to the end of the last stream: {statistics.median(took):.3f} s"
          f" ({min(took):.3f} to {max(took):.3f}) in {len(took)} rounds")
    print(f"{'others':<12}{'updates timed':>15}{'p50 us':>9}{'p99 us, median (least to most)':>34}")
    worst = {}
    for place, name in enumerate(("before", "meanwhile")):
        mine = [values for values in kept[place::2] if values]
        p99 = [quantile(values, 0.99) for values in mine]
        p50 = statistics.median(quantile(values, 0.5) for values in mine)
        spread = f"{statistics.median(p99):,.0f} ({min(p99):,} to {max(p99):,})"
        print(f"{name:<12}{sum(map(len, mine)):>15,}{p50:>9,.0f}{spread:>34}")
        worst[place] = p99
    return max(took) <= MOST_S and statistics.median(worst[1]) <= max(worst[0])


def main():
    if not 3 <= len(sys.argv) <= 8:
        sys.exit(__doc__)
    program, crowd = map(os.path.abspath, sys.argv[1:3])
    users, items, rate, rounds, each = (int(given or usual) for given, usual in
                                        zip((sys.argv[3:] + [None] * 5)[:5], (1_000, 100_000, 300_000, 5, 10)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        granted, revoked = policy(users, True), policy(users, False)
        path = site.folder / "policy.toml"
        put(path, granted)
        try:
            at, latencies = start(site, path, users, items, rate)
            until_open(at["admin"], items)
            of_users = Users(crowd, at["ws"], users, items, each)
            told = rounds_of(of_users, path, granted, revoked, rounds)
            of_users.end()
            for client in site.processes[-OTHERS:]:
                client.terminate()
                client.wait()
            kept = read(latencies, [turn for _, turns in told for turn in turns])
            is_met = show(told, kept)
        finally:
            site.end()
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
