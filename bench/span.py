#!/usr/bin/env python3
"""From the first to the last byte of one update, in the sockets of all who watch its item.

    span.py PROGRAM BARE_WRITES [--mounts COUNT] [--rounds ROUNDS] [--updates UPDATES]
    default: 10,000 mounts, 3 rounds of 20 updates

    BARE_WRITES is crates/bench/examples/bare_writes.rs: the same bytes, written to as many sockets.

One process of hub and server with one thread for both; COUNT mounts over RSSL that have one item open, which changes
twice a second. The kernel notes when a segment arrives in a socket (SO_TIMESTAMPNS), and the mounts read when all is
over: what lies between the first and the last is the server's, and the kernel's way through loopback. Server and
floor in turns, each with connections of their own. A line for each: the least, the median and the most, in
milliseconds, and the median by that of the floor.
"""

import argparse
import os
import resource
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scrape import Site

# What a client of ETA 3.9.1 (Java) sends: connect with version 13, log in, and open the item of a service.
CONNECT = bytes.fromhex("003700000000160021003c00000e0107636c69656e7431093132372e302e302e3115146574616a332e392e312e4c312e"
                        "616c6c2e727267")
LOGIN = bytes.fromhex("006c0200670101000000010400805d260575736572310105530800040d4170706c69636174696f6e496411033235360f"
                      "4170706c69636174696f6e4e616d6511077465737461707008506f736974696f6e11113132372e302e302e312f636c69"
                      "656e743104526f6c65040100")
OPEN = bytes.fromhex("001a020015010600000005460001012280080301055452492e4e")
PING = bytes.fromhex("000302")
ITEM = "TRI.N"

SO_TIMESTAMPNS = 35
ROOM = 64 << 10
PATIENCE_S = 120
# All of one update has arrived so long after its first byte.
SETTLE_S = 0.3
PING_EACH = 10
AT_A_TIME = 50


def connected(address, count):
    host, port = address.rsplit(":", 1)
    peers = []
    for _ in range(count):
        peer = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        peer.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        peers.append(peer)
    return peers


def until_readable(peer):
    poll = select.poll()
    poll.register(peer, select.POLLIN)
    if not poll.poll(PATIENCE_S * 1e3):
        sys.exit("nothing comes")


def until_quiet(peers):
    """Reads what comes until nothing does for a while."""
    poll = select.epoll()
    for peer in peers:
        poll.register(peer.fileno(), select.EPOLLIN)
    by_number = {peer.fileno(): peer for peer in peers}
    until = time.monotonic() + PATIENCE_S
    while ready := poll.poll(0.2, 1024):
        for number, _ in ready:
            if not by_number[number].recv(ROOM):
                sys.exit("a mount was closed")
        if time.monotonic() > until:
            sys.exit("mounts are never quiet")


def mounted(address, count):
    """So many mounts with the item open: some at a time, as a server takes not many before their login."""
    peers = []
    while len(peers) < count:
        some = connected(address, min(AT_A_TIME, count - len(peers)))
        for request in (CONNECT, LOGIN):
            for peer in some:
                peer.sendall(request)
            for peer in some:
                if not peer.recv(ROOM):
                    sys.exit("a mount was closed")
        peers += some
    for peer in peers:
        peer.sendall(OPEN)
    return peers


def arrived(peer):
    """How many bytes wait in a socket, and when the last of them arrived, in seconds."""
    taken, control, _, _ = peer.recvmsg(ROOM, socket.CMSG_SPACE(16))
    (_, _, stamp), = control
    seconds, nanoseconds = struct.unpack("qq", stamp)
    return len(taken), seconds + nanoseconds / 1e9


def span(peers):
    """Milliseconds from the first to the last arrival of the next update, and how long it is."""
    until_readable(peers[0])
    time.sleep(SETTLE_S)
    found = [arrived(peer) for peer in peers]
    sizes = {size for size, _ in found}
    if len(sizes) > 1:
        return None
    times = [when for _, when in found]
    return (max(times) - min(times)) * 1e3, sizes.pop()


def spans(peers, wanted, trigger=lambda: None):
    """So many spans; rounds in which something else came as well are left out."""
    kept, size = [], 0
    tries = 0
    while len(kept) < wanted:
        tries += 1
        if tries % PING_EACH == 0:
            for peer in peers:
                peer.sendall(PING)
        trigger()
        found = span(peers)
        if found is not None:
            kept.append(found[0])
            size = found[1]
        if tries > 5 * wanted:
            sys.exit("something else comes all the time")
    return kept, size


def of_server(program, wanted):
    with tempfile.TemporaryDirectory() as name:
        site = Site(program, Path(name))
        try:
            _, source = site.addresses("source", "--listen", "127.0.0.1:0", "-S", "FEED", "--rate", 2, "-I", 0)
            config = site.folder / "site.toml"
            config.write_text(f"[server]\nmax-mounts = {wanted.mounts + 10}\n")
            _, at = site.addresses("run", "--config", config, "--source", source["rssl"], "--rssl-port", 0,
                                   "--ni-port", "off", "--admin-port", "off")
            peers = mounted(at["rssl"], wanted.mounts)
            # The images.
            until_readable(peers[-1])
            until_quiet(peers)
            try:
                return spans(peers, wanted.updates)
            finally:
                for peer in peers:
                    peer.close()
        finally:
            site.end()


def of_floor(program, wanted, size):
    floor = subprocess.Popen([program, "--peers", str(wanted.mounts), "--bytes", str(size)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        peers = connected(floor.stdout.readline().strip(), wanted.mounts)

        def trigger():
            floor.stdin.write("\n")
            floor.stdin.flush()

        try:
            return spans(peers, wanted.updates, trigger)[0]
        finally:
            for peer in peers:
                peer.close()
    finally:
        floor.kill()
        floor.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("bare_writes", type=os.path.abspath)
    for name, usual in (("mounts", 10_000), ("rounds", 3), ("updates", 20)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server, floor, size = [], [], 0
    for _ in range(wanted.rounds):
        kept, size = of_server(wanted.program, wanted)
        server += kept
        floor += of_floor(wanted.bare_writes, wanted, size)
    print(f"{wanted.mounts:,} mounts, an update of {size} bytes, {wanted.rounds} rounds in turns; ms\n")
    print("| | least | median | most | by the floor |\n|---|---:|---:|---:|---:|")
    middle = statistics.median(floor)
    for name, values in (("bare writes", floor), ("server", server)):
        print(f"| {name} | {min(values):.1f} | {statistics.median(values):.1f} | {max(values):.1f} | "
              f"{statistics.median(values) / middle:.2f} |")


if __name__ == "__main__":
    main()
