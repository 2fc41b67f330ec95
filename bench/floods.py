#!/usr/bin/env python3
"""What a mount that behaves feels of peers that flood the same server.

    floods.py PROGRAM [ITEMS] [RATE] [FLOOD...]     default: 100 items, 2,000 updates/s, all floods

One source, one process of hub and server on a core of its own, nine mounts that read and a probe that measures.
For each flood in turns A B A B: A nothing, B four peers that do nothing else. They run only when neither source
nor probe wants their core. One row a flood: the probe's latencies in A and in B, in which is what a core that is
shared costs; how long messages were in the server by its own stamps, in which is not; the server's share of its
core, its memory, how many messages or connections the flood came to, and lines of the server's log.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

from json_mount import JsonMount, connected
from probe import FILL_S, REST, YIELD, in_folder, mounts_of, percentile, probe_of, site

PEERS = 4
READERS = 9
# The server tells the hops of its last whole ten seconds.
SECONDS = 21
ITEMS_OF_A_CROWD = 20_000
ITEMS_OF_A_BATCH = 1_000


def once(address, payload):
    """Connects, says something, and waits until it is hung up on."""
    try:
        with connected(address) as peer:
            peer.sendall(payload)
            while peer.recv(4096):
                pass
    except OSError:
        pass
    return 1


def connects(addresses):
    """Connections that are closed at once."""
    while True:
        try:
            connected(addresses["rssl"]).close()
        except OSError:
            pass
        yield 1


def nonsense(addresses):
    """Openings that are no opening."""
    while True:
        yield once(addresses["rssl"], b"\x00\x40\x07" + bytes(range(61)))


def pages(addresses):
    """Requests of web pages of another site."""
    request = ("GET /WebSocket HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tr_json2\r\n"
               f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\nOrigin: http://elsewhere.example\r\n\r\n")
    while True:
        yield once(addresses["ws"], request.encode())


def waiting(addresses):
    """Handshakes that never end, 200 at a time."""
    held = []
    while True:
        try:
            peer = connected(addresses["rssl"])
            peer.sendall(b"\x00")
            held.append(peer)
        except OSError:
            pass
        if len(held) > 200:
            held.pop(0).close()
        yield 1


def open_batch(mount, first):
    mount.open(first, [f"FLOOD{number}" for number in range(first, first + ITEMS_OF_A_BATCH)])


def close_batch(mount, first):
    mount.close(first, ITEMS_OF_A_BATCH)


def requests(addresses):
    """20,000 items opened and closed again, without end."""
    mount = JsonMount(addresses["ws"], f"flood-{os.getpid()}")
    while True:
        for of_a_batch in (open_batch, close_batch):
            for first in range(10, 10 + ITEMS_OF_A_CROWD, ITEMS_OF_A_BATCH):
                of_a_batch(mount, first)
                yield ITEMS_OF_A_BATCH


def closes(addresses):
    """Closes of 20,000 streams that are open, and then of as many that are not, without end."""
    mount = JsonMount(addresses["ws"], f"flood-{os.getpid()}")
    while True:
        for first in range(10, 10 + ITEMS_OF_A_CROWD, ITEMS_OF_A_BATCH):
            open_batch(mount, first)
            for _ in range(20):
                close_batch(mount, first)
                yield ITEMS_OF_A_BATCH


def watchlists(addresses):
    """Mounts that open items until they are refused, leave without a word, and come again."""
    while True:
        mount = JsonMount(addresses["ws"], f"flood-{os.getpid()}")
        for first in range(10, 200_010, ITEMS_OF_A_BATCH):
            open_batch(mount, first)
            yield ITEMS_OF_A_BATCH
        mount.peer.close()


def pings(addresses):
    """Pings whose answers are read."""
    mount = JsonMount(addresses["ws"], f"flood-{os.getpid()}")
    while True:
        for _ in range(100):
            mount.say({"Type": "Ping"})
        yield 100


FLOODS = {flood.__name__: flood for flood in
          (connects, nonsense, pages, waiting, requests, closes, watchlists, pings)}


def attack(name, addresses, count_file):
    """One peer: counts in a file how much it did."""
    done, written = 0, time.monotonic()
    while True:
        try:
            for count in FLOODS[name](addresses):
                done += count
                if time.monotonic() - written > 0.2:
                    written = time.monotonic()
                    with open(count_file, "w") as file:
                        file.write(str(done))
        except OSError:
            # Cut: it comes again.
            time.sleep(0.01)


def in_server_us(addresses):
    """How long one message in a hundred was in the server, and the longest, in the last whole ten seconds."""
    with urllib.request.urlopen(f"http://{addresses['admin']}/v1/hops", timeout=30) as answer:
        rows = json.load(answer)["rows"]
    of_server = next(row for row in rows if row["hop"] == "server")
    return of_server["p99Ns"] / 1000, of_server["worstNs"] / 1000


def flood(bench, name, items, rate, counts):
    """Latencies of the probe without and with the flood, each twice."""
    server, addresses = site(bench, rate)
    mounts_of(bench, addresses["rssl"], items, READERS)
    latencies = bench.folder / "latencies.csv"
    probe = probe_of(bench, addresses["rssl"], items, latencies)
    time.sleep(FILL_S / 2)
    phases = []
    for turn in range(2):
        phases.append(bench.phase("alone", server, SECONDS))
        counts["alone"].append(in_server_us(addresses))
        files = [bench.folder / f"count-{turn}-{peer}" for peer in range(PEERS)]
        peers = [subprocess.Popen([*YIELD, "taskset", "-c", REST, sys.executable, __file__, "--attack", name,
                                   json.dumps(addresses), file]) for file in files]
        bench.processes += peers
        time.sleep(1)
        phases.append(bench.phase("flooded", server, SECONDS))
        counts["flooded"].append(in_server_us(addresses))
        for peer in peers:
            peer.kill()
            peer.wait()
            bench.processes.remove(peer)
        counts["done"] += sum(int(file.read_text()) for file in files if file.exists())
        time.sleep(2)
    probe.send_signal(signal.SIGINT)
    probe.wait(10)
    counts["lines"] = len((bench.folder / "log").read_text(errors="replace").splitlines())
    return phases, latencies


def row(program, name, items, rate):
    counts = {"done": 0, "lines": 0, "alone": [], "flooded": []}
    measured = in_folder(program, lambda bench: flood(bench, name, items, rate, counts))
    turns = {which: [(phase, rows) for phase, rows in measured if phase.name == which]
             for which in ("alone", "flooded")}
    line = f"{name:<12}"
    for share in (0.5, 0.99, 0.999):
        for which in ("alone", "flooded"):
            line += f"{percentile(sorted(sum((rows for _, rows in turns[which]), [])), share):>9.0f}"
    for of_turn in (0, 1):
        for which in ("alone", "flooded"):
            line += f"{max(turn[of_turn] for turn in counts[which]):>9.0f}"
    for which in ("alone", "flooded"):
        line += f"{max(phase.core for phase, _ in turns[which]):>9.2f}"
    for which in ("alone", "flooded"):
        line += f"{max(phase.memory for phase, _ in turns[which]):>9.0f}"
    print(line + f"{counts['done']:>12,}{counts['lines']:>8}")
    for which, phases in turns.items():
        print(f"    {which}: p99.9 in turns " + ", ".join(f"{percentile(rows, 0.999):.0f}" for _, rows in phases))


def main():
    if sys.argv[1:2] == ["--attack"]:
        return attack(sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
    program, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    numbers = [int(value) for value in arguments if value.isdigit()]
    items, rate = (numbers + [100, 2000][len(numbers):])[:2]
    chosen = [value for value in arguments if value in FLOODS] or list(FLOODS)
    heads = ("p50 us", "p99 us", "p99.9 us", "server p99 us", "server most us", "core", "MiB")
    print(f"{'':<12}" + "".join(f"{head:>18}" for head in heads) + f"{'flood':>12}{'log':>8}")
    print(f"{'':<12}" + f"{'alone':>9}{'flooded':>9}" * len(heads) + f"{'events':>12}{'lines':>8}")
    for name in chosen:
        row(program, name, items, rate)


if __name__ == "__main__":
    main()
