#!/usr/bin/env python3
"""How soon a thousand users have nothing left of what they may not see any more, and what others feel of it.

    revoke.py PROGRAM [USERS [ITEMS [RATE [ROUNDS [EACH]]]]]
    default: 1,000 users, 100,000 items, 300,000 updates/s, 5 rounds, 10 items each

One source that updates ITEMS items, one process of hub and server with a policy, two mounts that have all items open
between them and measure, and USERS mounts over JSON, each a user of its own with EACH of the items open. In each round the policy
is replaced by one without their role's grant; when all their streams are over it is put back, and they open them
again. Told: from the file to the last stream's end, and latencies of the two mounts before and meanwhile. Exit status
1 if a round took more than a second, or the median of the p99 meanwhile is above that of all other rounds.
"""

import os
import selectors
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from drill import quantile, read, until_open
from json_mount import JsonMount
from scrape import Site

OTHERS = 2
FIRST_ID = 10
MOST_S = 1.0
QUIET_S = 2.0
STAMPS_PER_S = 3000
OVER, IMAGE = b'"Closed"', b'"Type":"Refresh"'


class User(JsonMount):
    """Counts its images and the streams that are over."""

    def __init__(self, address, number, items, each):
        self.images, self.over, self.rest = 0, 0, b""
        first = number * each
        self.names = [f"ITEM{(first + place) % items}" for place in range(each)]
        super().__init__(address, f"user{number}")

    def read(self):
        try:
            while self.peer.gettimeout() == 0 and (came := self.peer.recv(1 << 18)):
                text = self.rest + came
                # What was counted is not in the rest: it is shorter than either word.
                self.images += text.count(IMAGE)
                self.over += text.count(OVER)
                keep = max(text.rfind(OVER) + len(OVER), text.rfind(IMAGE) + len(IMAGE), len(text) - len(IMAGE) + 1, 0)
                self.rest = text[keep:]
        except BlockingIOError:
            pass

    def open_all(self):
        self.open(FIRST_ID, self.names)


class Users:
    def __init__(self, address, count, items, each):
        self.all = [User(address, number, items, each) for number in range(count)]
        self.each = each
        self.ready = selectors.DefaultSelector()
        for user in self.all:
            self.ready.register(user.peer, selectors.EVENT_READ, user)

    def until(self, what, seconds=60):
        """Reads until all have so many of it. When that was."""
        ended = time.monotonic() + seconds
        while True:
            for key, _ in self.ready.select(0.05):
                key.data.read()
            lacking = sum(1 for user in self.all if not what(user))
            if lacking == 0:
                return time.monotonic()
            if time.monotonic() > ended:
                sys.exit(f"after {seconds} s {lacking} of {len(self.all)} users lack something")

    def for_s(self, seconds):
        ended = time.monotonic() + seconds
        while time.monotonic() < ended:
            for key, _ in self.ready.select(0.05):
                key.data.read()

    def reset(self):
        for user in self.all:
            user.images = user.over = 0


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
        users.reset()
        for user in users.all:
            user.open_all()
        users.until(lambda user: user.images >= users.each)
        users.for_s(1.0)
        # The stream of the batch was over at once.
        users.reset()
        quiet = time.monotonic()
        users.for_s(QUIET_S)
        began = put(path, revoked)
        ended = users.until(lambda user: user.over >= users.each)
        users.for_s(max(0.0, began + QUIET_S - time.monotonic()))
        told.append((ended - began, [(False, quiet * 1e6, began * 1e6), (True, began * 1e6, (began + QUIET_S) * 1e6)]))
        put(path, granted)
        users.for_s(1.5)
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
    if not 2 <= len(sys.argv) <= 7:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    users, items, rate, rounds, each = (int(given or usual) for given, usual in
                                        zip((sys.argv[2:] + [None] * 5)[:5], (1_000, 100_000, 300_000, 5, 10)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        granted, revoked = policy(users, True), policy(users, False)
        path = site.folder / "policy.toml"
        put(path, granted)
        try:
            at, latencies = start(site, path, users, items, rate)
            until_open(at["admin"], items)
            of_users = Users(at["ws"], users, items, each)
            # The image of the login.
            of_users.until(lambda user: user.images >= 1)
            told = rounds_of(of_users, path, granted, revoked, rounds)
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
