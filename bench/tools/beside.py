"""Two tools at the same work, in turns: theirs, ours, theirs, ours …

A row has an aim for the ratio of our figure to theirs, of each pair of runs; the table tells the
median of the pairs' ratios, and how far they lie apart; and, where other programs had much of the
cores while ours ran, how much.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Callable

Figures = dict[str, float]


@dataclass
class Aim:
    """A figure of a row, and what its ratio is to be; or how much it may differ."""

    figure: str
    unit: str
    most: float
    # Differences up to this count as none, whatever the ratio is.
    or_less: float = 0.0
    # The ratio may not be below this either.
    least: float = 0.0


@dataclass
class Row:
    name: str
    needs: str
    theirs: Callable[[], Figures]
    ours: Callable[[], Figures]
    aims: list[Aim]
    failed: str = ""
    # The most that other programs had of the cores while ours ran, in percent.
    disturbed: float = 0.0
    pairs: list[tuple[Figures, Figures]] = field(default_factory=list)


class Bench:
    def __init__(self, lab: str, folder: str, seconds: float):
        self.lab, self.folder, self.seconds = lab, folder, seconds
        cores = sorted(os.sched_getaffinity(0))
        # What measures, and what is measured.
        self.near, self.far = cores[0], cores[1 % len(cores)]

    def run(self, command: list[str], statuses: tuple[int, ...] = (0,)) -> str:
        limit = self.seconds * 4 + 30
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        if done.returncode not in statuses:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {' '.join(last)}")
        return done.stdout

    def tool(self, *words: str) -> dict:
        """Runs one of ours; its record. Status 1 says that figures do not count, as the record does."""
        with tempfile.NamedTemporaryFile(suffix=".jsonl", dir=self.folder) as file:
            self.run([self.lab, *words, f"--json={file.name}"], statuses=(0, 1))
            return record(file.name)

    @contextlib.contextmanager
    def server(self, *command: str, ready: int | None = None, udp: bool = False):
        child = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            if ready is not None:
                wait_for_port(ready, udp, child)
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


# What other programs had of the cores in each of our runs of a row, in percent.
others_percent: list[float] = []

# A share from which on it is told.
OTHERS_TOLD_PERCENT = 2.0


def record(path: str) -> dict:
    with open(path, encoding="utf-8") as lines:
        tools = [json.loads(line) for line in lines if '"bench":"tool"' in line]
    if not tools:
        raise RuntimeError("our tool left no record")
    tool = tools[-1]
    if not tool["valid"]:
        raise RuntimeError(f"ours is not valid: {tool.get('why_invalid', 'no reason told')}")
    others_percent.append(tool.get("disturbed", {}).get("others_percent", 0.0))
    return tool


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port: int, udp: bool, child: subprocess.Popen) -> None:
    """Until somebody listens there, as the kernel's tables tell."""
    table, state = ("/proc/net/udp", "07") if udp else ("/proc/net/tcp", "0A")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with open(table, encoding="ascii") as lines:
            if any(f":{port:04X} " in line and f" {state} " in line for line in lines):
                return
        if child.poll() is not None:
            raise RuntimeError(f"a server ended with {child.returncode}")
        time.sleep(0.01)
    raise RuntimeError(f"nobody listens on port {port}")


def found(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if not match:
        raise RuntimeError(f"theirs did not print {pattern}")
    return float(match.group(1))


def sockperf_rows(bench: Bench) -> list[Row]:
    rows = []
    for transport in ("tcp", "udp"):
        for size in (14, 64, 1024, 1472):
            for spins in (False, True):
                rows.append(ping_pong(bench, transport, size, spins))
    rows.extend(under_load(bench, rate) for rate in (10_000, 100_000))
    return rows


def ping_pong(bench: Bench, transport: str, size: int, spins: bool) -> Row:
    def theirs() -> Figures:
        port = free_port()
        common = ["-p", str(port), *(["--tcp"] if transport == "tcp" else [])]
        waits = ["--nonblocked"] if spins else []
        near, far = str(bench.near), str(bench.far)
        server = ["taskset", "-c", far, "sockperf", "server", "-i", "127.0.0.1", *common, *waits]
        with bench.server(*server, ready=port, udp=transport == "udp"):
            text = bench.run(
                ["taskset", "-c", near, "sockperf", "ping-pong", "-i", "127.0.0.1", *common, *waits]
                + ["-m", str(size), "-t", str(max(1, round(bench.seconds)))]
            )
        return {
            "median": found(r"percentile 50\.000 =\s*([\d.]+)", text),
            "p99": found(r"percentile 99\.000 =\s*([\d.]+)", text),
        }

    def ours() -> Figures:
        ms = round(bench.seconds * 1000)
        tool = bench.tool(
            "pingpong", "--noise=0", "--nodelay", *(["--spin"] if spins else []), f"--sizes={size}",
            f"--minms={ms}", f"--maxms={ms}", "--maxiter=10000000", "--warmupms=400",
            f"--affinity={bench.near};{bench.far}", transport,
        )
        of = tool["from_send"]
        return {"median": of["p50_ns"] / 1e3, "p99": of["p99_ns"] / 1e3}

    how = "spinning" if spins else "blocking"
    aims = [Aim("median", "µs", 1.02), Aim("p99", "µs", 1.10)]
    return Row(f"{transport} {size} B {how}, sockperf ping-pong", "sockperf", theirs, ours, aims)


def under_load(bench: Bench, rate: int) -> Row:
    size, seconds = 64, max(1, round(bench.seconds))

    def theirs() -> Figures:
        port = free_port()
        server = ["taskset", "-c", str(bench.far), "sockperf", "server", "-i", "127.0.0.1", "-p", str(port)]
        with bench.server(*server, ready=port, udp=True):
            text = bench.run(
                ["taskset", "-c", str(bench.near), "sockperf", "under-load", "-i", "127.0.0.1"]
                + ["-p", str(port), "-m", str(size), "-t", str(seconds), "--mps", str(rate)]
                + ["--reply-every", "1"]
            )
        time_s = found(r"\[Valid Duration\] RunTime=([\d.]+)", text)
        sent = found(r"\[Valid Duration\].*SentMessages=(\d+)", text)
        return {"mean": found(r"Latency is ([\d.]+)", text), "rate": sent / time_s}

    def ours() -> Figures:
        port = free_port()
        with tempfile.NamedTemporaryFile(suffix=".jsonl", dir=bench.folder) as file:
            send = [
                bench.lab, "nwtool", "send", f"--port={port}", "--bind=127.0.0.1", "--transport=udp",
                f"--size={size}", f"--rate={rate}", f"--seconds={seconds}", "--noise=0", "-q",
                f"--affinity={bench.near};{bench.far}", f"--json={file.name}",
            ]
            with bench.server(*send, ready=port) as sender:
                bench.run([bench.lab, "nwtool", "forward", f"127.0.0.1:{port}"], statuses=(0, 1))
                sender.wait(timeout=seconds + 20)
            tool = record(file.name)
        # Theirs is half of a round trip.
        return {"mean": tool["from_send"]["mean_ns"] / 2e3, "rate": tool["counts"]["due"] / tool["seconds"]}

    aims = [Aim("mean", "µs", 1.05), Aim("rate", "/s", 1.001, least=0.999)]
    return Row(f"udp {size} B at {rate:,}/s, sockperf under-load", "sockperf", theirs, ours, aims)


def sfnt_rows(bench: Bench) -> list[Row]:
    def line(transport: str) -> list[str]:
        ms = round(bench.seconds * 200)
        return [f"--minms={ms}", f"--maxms={ms}", f"--affinity={bench.near};{bench.far}", transport]

    def mean(rows: list[list[int]], column: int) -> float:
        return statistics.geometric_mean(row[column] for row in rows) / 1e3

    def of(command: list[str]) -> Figures:
        text = bench.run(command)
        matches = re.findall(r"^[ \t]*(\d+(?:[ \t]+\d+){7})[ \t]*$", text, re.MULTILINE)
        rows = [[int(word) for word in match.split()] for match in matches]
        return {"mean": mean(rows, 1), "median": mean(rows, 3)}

    rows = []
    for transport in ("tcp", "udp", "pipe", "unix_stream"):
        def theirs(transport=transport) -> Figures:
            return of(["sfnt-pingpong", *line(transport)])

        def ours(transport=transport) -> Figures:
            return of([bench.lab, "pingpong", "--format=classic", "--noise=0", *line(transport)])

        aims = [Aim("mean", "µs", 1.02), Aim("median", "µs", 1.02)]
        rows.append(Row(f"{transport}, all sizes, sfnt-pingpong", "sfnt-pingpong", theirs, ours, aims))
    return rows


def stream_row(bench: Bench) -> Row:
    rates, ms = "50000-500000+50000", max(200, round(bench.seconds * 100))

    def of(command: list[str]) -> Figures:
        text = bench.run([*command, f"--rates={rates}", f"--millisec={ms}", "tcp"])
        # target, send and receive rates, then the latency: mean, min …
        rows = [line.split() for line in text.splitlines() if re.match(r"\s*\d", line)]
        means = [float(row[3]) for row in rows if float(row[3]) > 0]
        if not means:
            raise RuntimeError("no rate was reached")
        return {"mean": statistics.geometric_mean(means) / 1e3}

    def theirs() -> Figures:
        return of(["sfnt-stream", f"--affinity={bench.near},{bench.far};{bench.far}"])

    def ours() -> Figures:
        return of([bench.lab, "nwtool", "stream", "--noise=0", f"--affinity={bench.near},{bench.far};{bench.far}"])

    return Row("tcp 24 B, 50k to 500k/s, sfnt-stream", "sfnt-stream", theirs, ours, [Aim("mean", "µs", 1.05)])


def iperf_row(bench: Bench) -> Row:
    rate, size, seconds = 10_000, 1000, max(1, round(bench.seconds))

    def theirs() -> Figures:
        port = free_port()
        server = ["taskset", "-c", str(bench.far), "iperf3", "-s", "-p", str(port), "-1"]
        with bench.server(*server):
            wait_for_listener6(port)
            text = bench.run(
                ["taskset", "-c", str(bench.near), "iperf3", "-c", "127.0.0.1", "-p", str(port), "-u"]
                # Its messages leave in groups, as many as are due in this time.
                + ["-l", str(size), "-b", str(rate * size * 8), "--pacing-timer", "100"]
                + ["-t", str(seconds), "-J"]
            )
        of = json.loads(text)["end"]["sum"]
        return {"jitter": of["jitter_ms"] * 1e3, "lost": float(of["lost_packets"])}

    def ours() -> Figures:
        port = free_port()
        with tempfile.NamedTemporaryFile(suffix=".jsonl", dir=bench.folder) as file:
            receive = [
                bench.lab, "mcast", "receive", "--group=127.0.0.1", f"--port={port}",
                f"--seconds={seconds + 1}", f"--affinity={bench.far}", f"--json={file.name}", "-q",
            ]
            with bench.server(*receive, ready=port, udp=True) as receiver:
                bench.run(
                    [bench.lab, "mcast", "send", "--group=127.0.0.1", f"--port={port}", f"--rate={rate}"]
                    + [f"--size={size}", f"--seconds={seconds}", f"--affinity={bench.near}", "-q"],
                    statuses=(0, 1),
                )
                receiver.wait(timeout=seconds + 20)
            tool = record(file.name)
        return {
            "jitter": tool["per_second"]["jitter_rfc3550"] / 1e3,
            "lost": float(tool["counts"]["lost"]),
        }

    aims = [Aim("jitter", "µs", 1.2, or_less=2.0, least=0.8), Aim("lost", "", 1.0, least=1.0)]
    return Row(f"udp {size} B at {rate:,}/s one way, iperf3 -u", "iperf3", theirs, ours, aims)


def wait_for_listener6(port: int) -> None:
    """A server that listens for IPv6 and IPv4 with one socket."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for table in ("/proc/net/tcp6", "/proc/net/tcp"):
            with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:
                if any(f":{port:04X} " in line and " 0A " in line for line in lines):
                    return
        time.sleep(0.01)
    raise RuntimeError(f"nobody listens on port {port}")


def disk_row(bench: Bench, mode: str, rate: int, pacing: str = "even") -> Row:
    seconds, file = bench.seconds, os.path.join(bench.folder, f"beside-{os.getpid()}")

    def theirs() -> Figures:
        try:
            text = bench.run(
                ["fio", "--name=beside", f"--filename={file}", "--rw=write", "--bs=4k", "--ioengine=psync"]
                + [f"--direct={int(mode == 'direct')}", f"--rate_iops={rate}", "--time_based"]
                + [f"--runtime={max(1, round(seconds))}", f"--size={4096 * rate}", "--output-format=json"]
                + [f"--cpus_allowed={bench.near}", "--rate_process=linear"]
            )
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(file)
        job = json.loads(text[text.index("{"):])["jobs"][0]["write"]
        return {"mean": job["clat_ns"]["mean"] / 1e3}

    def ours() -> Figures:
        tool = bench.tool(
            "disk", "write", file, "--noise=0", f"--mode={mode}", f"--rate={rate}", "--size=4096",
            f"--seconds={seconds}", f"--file-size={4096 * rate}", f"--affinity={bench.near}", "-q",
            f"--pacing={pacing}",
        )
        return {"mean": tool["from_send"]["mean_ns"] / 1e3}

    how = mode if pacing == "even" else f"{mode} in pairs"
    return Row(f"4 KiB {how} at {rate:,}/s, fio psync", "fio", theirs, ours, [Aim("mean", "µs", 1.05)])


def timer_row(bench: Bench) -> Row:
    core, seconds = bench.near, max(1, round(bench.seconds))

    def theirs() -> Figures:
        text = bench.run(
            ["cyclictest", "-q", "-m", "-p", "95", "-i", "1000", "-a", str(core), "-t", "1", "-D", str(seconds)]
        )
        return {"avg": found(r"Avg:\s*(\d+)", text)}

    def ours() -> Figures:
        tool = bench.tool(
            "jitter", "--mode=timer", "--priority=fifo:95", f"--cores={core}", f"--runtime={seconds}"
        )
        return {"avg": tool["from_send"]["mean_ns"] / 1e3}

    aims = [Aim("avg", "µs", 1.10, or_less=1.0)]
    return Row("timer, FIFO 95, cyclictest", "cyclictest", theirs, ours, aims)


def spin_row(bench: Bench) -> Row:
    core, seconds = bench.near, max(1, round(bench.seconds))

    def theirs() -> Figures:
        text = bench.run(["sysjitter", "--runtime", str(seconds), "--cores", str(core), "200"])
        return {
            "gaps/s": found(r"int_n_per_sec:\s*([\d.]+)", text),
            "lost %": found(r"int_total\(%\):\s*([\d.]+)", text),
        }

    def ours() -> Figures:
        tool = bench.tool("jitter", "200", "--mode=spin", f"--cores={core}", f"--runtime={seconds}")
        return {
            "gaps/s": tool["from_send"]["count"] / tool["seconds"],
            "lost %": tool["counts"]["total_ns"] / tool["seconds"] / 1e7,
        }

    aims = [Aim("gaps/s", "", 1.1, least=0.9), Aim("lost %", "", 1.1, least=0.9)]
    return Row("spin, 200 ns, sysjitter", "sysjitter", theirs, ours, aims)


def all_rows(bench: Bench) -> list[Row]:
    return [
        *sockperf_rows(bench),
        *sfnt_rows(bench),
        stream_row(bench),
        iperf_row(bench),
        disk_row(bench, "direct", 1000),
        disk_row(bench, "buffered", 10_000),
        # As fio itself sends them, which sleeps too long for each of them to leave alone.
        disk_row(bench, "buffered", 10_000, "ticks:5000"),
        timer_row(bench),
        spin_row(bench),
    ]


def measure(row: Row, pairs: int) -> None:
    if shutil.which(row.needs) is None:
        row.failed = f"missing: {row.needs} is not in the path"
        return
    last = ""
    others_percent.clear()
    # A run that does not count is made again, a few times.
    for _ in range(pairs + 3):
        if len(row.pairs) == pairs:
            break
        try:
            theirs = row.theirs()
            row.pairs.append((theirs, row.ours()))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            last = str(error)
    if len(row.pairs) < pairs:
        row.failed = last
    row.disturbed = max(others_percent, default=0.0)


def lines(row: Row) -> list[dict]:
    if row.failed and not row.pairs:
        return [{"row": row.name, "reason": row.failed}]
    told = []
    for aim in row.aims:
        both = [(theirs[aim.figure], ours[aim.figure]) for theirs, ours in row.pairs]
        theirs, ours = (statistics.median(side) for side in zip(*both))
        ratios = [b / a if a else (1.0 if b == a else float("inf")) for a, b in both]
        ratio = statistics.median(ratios)
        is_met = aim.least <= ratio <= aim.most or abs(ours - theirs) <= aim.or_less
        told.append({
            "row": row.name, "figure": aim.figure, "unit": aim.unit, "theirs": theirs, "ours": ours,
            "ratio": ratio, "least": min(ratios), "most": max(ratios), "pairs": len(both),
            "aim": words(aim), "met": is_met, "disturbed_percent": row.disturbed,
        })
    return told


def words(aim: Aim) -> str:
    text = f"≤ {aim.most:g}" if not aim.least else f"{aim.least:g} to {aim.most:g}"
    return f"{text} or ± {aim.or_less:g} {aim.unit}" if aim.or_less else text


def printed(line: dict) -> str:
    if "reason" in line:
        return f"{line['row']:<48} {line['reason']}"
    of = f"{line['theirs']:>10.2f}{line['ours']:>10.2f}{line['ratio']:>8.3f}"
    spread = f"{line['least']:.3f} to {line['most']:.3f}"
    met = "met" if line["met"] else "missed"
    if line["disturbed_percent"] >= OTHERS_TOLD_PERCENT:
        met += f", disturbed: others had {line['disturbed_percent']:.0f} % of the cores"
    return f"{line['row']:<48}{line['figure']:>8}{of}  {spread:<18}{line['aim']:<22}{met}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json")
    given = parser.parse_args()
    bench = Bench(given.lab, given.folder, given.seconds or (1.0 if given.quick else 5.0))
    rows = [row for row in all_rows(bench) if given.only in row.name]
    if not rows:
        print(f"bench-tools: no row has `{given.only}` in its name", file=sys.stderr)
        return 2
    print(f"cores {bench.near};{bench.far}, {given.pairs} pairs of {bench.seconds:g} s, theirs and ours in turns")
    print(f"{'row':<48}{'figure':>8}{'theirs':>10}{'ours':>10}{'ratio':>8}  {'of the pairs':<18}{'aim':<22}")
    every: list[dict] = []
    for row in rows:
        measure(row, given.pairs)
        for line in lines(row):
            every.append(line)
            print(printed(line), flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(every, file, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
