#!/usr/bin/env python3
"""Joins the results of the JSON benchmark into one table.

    report.py [--target DIR] [--json FILE]

Reads below the cargo target directory (--target, else CARGO_TARGET_DIR, else
target beside the workspace's Cargo.toml):

    criterion/json/<row>/round-*/estimates.json      Rust, ns
    bench/json-java-*.json                           Java (JMH), ns

A figure is the median over the rounds; for Java the median of all iterations
of a round counts as the round's. A row without a result shows a dash.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

DIRECTIONS = {"write": "RWF to JSON", "read": "JSON to RWF"}


def messages(workspace):
    lines = (workspace / "crates/json/benches/messages/messages.jsonl").read_text().splitlines()
    return [json.loads(line)["name"] for line in lines]


def rust_times(target):
    """Row -> ns of each round."""
    times = {}
    for file in sorted(target.glob("criterion/json/*/round-*/estimates.json")):
        estimates = json.loads(file.read_text())
        times.setdefault(file.parent.parent.name, []).append(estimates["median"]["point_estimate"])
    return times


def java_times(target):
    """Row -> ns of each round."""
    times = {}
    for file in sorted(target.glob("bench/json-java-*.json")):
        for result in json.loads(file.read_text()):
            if result["primaryMetric"]["scoreUnit"] != "ns/op":
                sys.exit(f"{file}: unit {result['primaryMetric']['scoreUnit']} instead of ns/op")
            row = f"{result['benchmark'].rpartition('.')[2]}_{result['params']['message']}"
            iterations = [ns for fork in result["primaryMetric"]["rawData"] for ns in fork]
            times.setdefault(row, []).append(statistics.median(iterations))
    return times


def spread(rounds):
    """How far the rounds are apart, as a part of their median."""
    return (max(rounds) - min(rounds)) / statistics.median(rounds)


def table(names, rust, java):
    """One dict a row, absent figures as None."""
    lines = []
    for direction, label in DIRECTIONS.items():
        for name in names:
            row = f"{direction}_{name}"
            rust_ns = statistics.median(rust[row]) if row in rust else None
            java_ns = statistics.median(java[row]) if row in java else None
            lines.append(
                {
                    "direction": label,
                    "message": name,
                    "rust_ns": rust_ns,
                    "java_ns": java_ns,
                    "ratio": java_ns / rust_ns if rust_ns and java_ns else None,
                    "rust_spread": spread(rust[row]) if row in rust else None,
                    "java_spread": spread(java[row]) if row in java else None,
                    "rounds": max(len(rust.get(row, [])), len(java.get(row, []))),
                }
            )
    return lines


def show(lines):
    def cell(value, form):
        return "-" if value is None else format(value, form)

    print("| direction | message | Rust ns | Java ns | Java / Rust | spread Rust | spread Java |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for line in lines:
        cells = [
            line["direction"],
            line["message"],
            cell(line["rust_ns"], ".0f"),
            cell(line["java_ns"], ".0f"),
            cell(line["ratio"], ".1f"),
            cell(line["rust_spread"], ".1%"),
            cell(line["java_spread"], ".1%"),
        ]
        print("| " + " | ".join(cells) + " |")
    for label in DIRECTIONS.values():
        ratios = [line["ratio"] for line in lines if line["direction"] == label and line["ratio"]]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"\n{label}: {min(ratios):.1f} to {max(ratios):.1f} times as fast, geometric mean {mean:.1f}.")
    rounds = sorted({line["rounds"] for line in lines})
    print(f"\nMedians over {' or '.join(map(str, rounds))} rounds; spread: (slowest - fastest round) / median.")


def main():
    workspace = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Joins the results of the JSON benchmark into one table.")
    parser.add_argument("--target", type=pathlib.Path, help="the cargo target directory")
    parser.add_argument("--json", type=pathlib.Path, help="also write the table to this file as JSON")
    arguments = parser.parse_args()
    target = arguments.target or pathlib.Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target"))

    lines = table(messages(workspace), rust_times(target), java_times(target))
    if all(line["rust_ns"] is None and line["java_ns"] is None for line in lines):
        sys.exit(f"no results below {target}: run interop/json-bench/run.sh first")
    show(lines)
    if arguments.json:
        arguments.json.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
