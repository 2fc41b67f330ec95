"""Reads a file of Nasdaq's messages into the books of itch-book, once for each line of the standard input, and
answers each with how many nanoseconds that took, how many messages there were, and how many orders are left. No table
is asked for: what it does is to decode, and to keep the books."""

import sys
import time

from itch_book._core import Session

with open(sys.argv[1], "rb") as file:
    messages = file.read()
for _ in sys.stdin:
    session = Session([], 0, [])
    began = time.perf_counter_ns()
    session.feed(messages)
    took_ns = time.perf_counter_ns() - began
    stats = session.stats()
    if stats["unknown"] or stats["malformed"] or stats["missing_ref"]:
        sys.exit(f"itch-book does not read all of it: {stats}")
    print(took_ns, stats["messages"], stats["live_orders"], flush=True)
