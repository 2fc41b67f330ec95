#!/usr/bin/env python3
"""Joins the results of the wire benchmark into one table.

    report.py [--target DIR] [--json FILE]

Reads below the cargo target directory (--target, else CARGO_TARGET_DIR, else
target beside the workspace's Cargo.toml):

    criterion/wire/<row>/round-*/estimates.json      Rust, ns
    bench/wire-java-*.json                           Java (JMH), ns
    gungraun/**/wire_instructions/**/summary.json    Rust, instructions

A figure is the median over the rounds; for Java the median of all iterations
of a round counts as the round's. A row without a result shows a dash.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

ROWS = [
    "header",
    "header_key",
    "decode_update_8",
    "decode_update_30",
    "decode_refresh_120",
    "decode_book_50",
    "decode_book_50_set",
    "encode_update_8",
    "encode_update_30",
    "encode_refresh_120",
    "encode_book_50",
    "encode_book_50_set",
]


def rust_times(target):
    """Row -> ns of each round."""
    times = {}
    for file in sorted(target.glob("criterion/wire/*/round-*/estimates.json")):
        row = file.parent.parent.name
        estimates = json.loads(file.read_text())
        times.setdefault(row, []).append(estimates["median"]["point_estimate"])
    return times


def java_times(target):
    """Row -> ns of each round."""
    times = {}
    for file in sorted(target.glob("bench/wire-java-*.json")):
        for result in json.loads(file.read_text()):
            if result["primaryMetric"]["scoreUnit"] != "ns/op":
                sys.exit(f"{file}: unit {result['primaryMetric']['scoreUnit']} instead of ns/op")
            row = result["benchmark"].rpartition(".")[2]
            forks = result["primaryMetric"]["rawData"]
            iterations = [ns for fork in forks for ns in fork]
            times.setdefault(row, []).append(statistics.median(iterations))
    return times


def instructions(target):
    """Row -> instructions of one run."""
    counts = {}
    for file in target.glob("gungraun/**/wire_instructions/**/summary.json"):
        summary = json.loads(file.read_text())
        for profile in summary["profiles"]:
            metrics = profile["data"]["total"]["metrics"]
            if "Ir" in metrics:
                counts[summary["id"]] = metrics["Ir"]["values"]["new"]
    return counts


def spread(rounds):
    """How far the rounds are apart, as a part of their median."""
    return (max(rounds) - min(rounds)) / statistics.median(rounds)


def table(rust, java, counts):
    """One dict a row, absent figures as None."""
    lines = []
    for row in ROWS:
        rust_ns = statistics.median(rust[row]) if row in rust else None
        java_ns = statistics.median(java[row]) if row in java else None
        lines.append(
            {
                "row": row,
                "rust_ns": rust_ns,
                "java_ns": java_ns,
                "ratio": java_ns / rust_ns if rust_ns and java_ns else None,
                "instructions": counts.get(row),
                "rust_spread": spread(rust[row]) if row in rust else None,
                "java_spread": spread(java[row]) if row in java else None,
                "rounds": max(len(rust.get(row, [])), len(java.get(row, []))),
            }
        )
    return lines


def show(lines):
    def cell(value, form):
        return "-" if value is None else format(value, form)

    print("| row | Rust ns | Java ns | Java / Rust | instructions | spread Rust | spread Java |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for line in lines:
        cells = [
            line["row"],
            cell(line["rust_ns"], ".1f"),
            cell(line["java_ns"], ".1f"),
            cell(line["ratio"], ".2f"),
            cell(line["instructions"], "d"),
            cell(line["rust_spread"], ".1%"),
            cell(line["java_spread"], ".1%"),
        ]
        print("| " + " | ".join(cells) + " |")
    rounds = sorted({line["rounds"] for line in lines})
    print(f"\nMedians over {' or '.join(map(str, rounds))} rounds; spread: (slowest - fastest round) / median.")


def main():
    workspace = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Joins the results of the wire benchmark into one table.")
    parser.add_argument("--target", type=pathlib.Path, help="the cargo target directory")
    parser.add_argument("--json", type=pathlib.Path, help="also write the table to this file as JSON")
    arguments = parser.parse_args()
    target = arguments.target or pathlib.Path(os.environ.get("CARGO_TARGET_DIR", workspace / "target"))

    lines = table(rust_times(target), java_times(target), instructions(target))
    if all(line["rust_ns"] is None and line["java_ns"] is None for line in lines):
        sys.exit(f"no results below {target}: run interop/wire-bench/run.sh first")
    show(lines)
    if arguments.json:
        arguments.json.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
