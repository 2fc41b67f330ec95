#!/usr/bin/env bash
# Tapeline's host tools beside the tools that others use, at the same work on the same cores, in
# turns: prints each ratio with its spread and its aim.
#
#   run.sh [--quick] [--only WORD] [--pairs N] [--seconds S] [--json FILE]
#
# --quick measures a second in place of five. --only takes the rows with that word in their name.
# sockperf, fio, cyclictest (rt-tests) and iperf3 are taken from the path, as are sfnt-pingpong,
# sfnt-stream and sysjitter; one that is not there is a row that says `missing`. Status 0 also when an aim is
# missed: the table says so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

command -v python3 >/dev/null || { echo "bench-tools: it needs python3" >&2; exit 2; }
lab=${LAB:-$target/release/tapeline-lab}
[ -x "$lab" ] || { echo "bench-tools: $lab is not built: cargo build --release -p tapeline-lab" >&2; exit 2; }
mkdir -p "$target/bench"
exec python3 "$here/beside.py" --lab "$lab" --folder "$target/bench" "$@"
