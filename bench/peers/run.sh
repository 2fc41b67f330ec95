#!/usr/bin/env bash
# Tapeline and other systems at the same work on this machine: builds them, measures them in
# turns, prints them side by side.
#
#   run.sh [--quick] [--json FILE] [OPTION...]
#   run.sh --build
#
# --build only builds. --quick takes some two minutes when all is built. --json writes the rows to FILE (default
# target/bench/peers.json), and every run as a line to FILE with the ending .jsonl. Further options
# are those of `tapeline bench peers`. A system whose tools are missing, or that does not build, is
# named and left out. Status 0 also when an aim is missed: the table says so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
folder=$target/bench/peers
log=$folder/build.log

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

rows=$target/bench/peers.json
only_builds=
options=()
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage ;;
        --build) only_builds=1 ;;
        --json)
            rows=${2:?--json needs a file}
            shift
            ;;
        *) options+=("$1") ;;
    esac
    shift
done

skip() { echo "peers: $1 is left out: $2" >&2; }

build_nats() {
    command -v go >/dev/null || { skip NATS "it needs Go (golang)"; return; }
    # The go.mod names the version; without a network, what was fetched before is used.
    (cd "$here/nats" && go build -o "$folder/nats-server" github.com/nats-io/nats-server/v2) \
        >>"$log" 2>&1 || skip NATS "go build failed, see $log"
}

build_zeromq() {
    pkg-config --exists libzmq 2>/dev/null ||
        { skip ZeroMQ "it needs libzmq (apt-get install libzmq3-dev)"; return; }
    # shellcheck disable=SC2046
    cc -O2 -Wall -Wextra -o "$folder/zeromq-proxy" "$here/zeromq/proxy.c" \
        $(pkg-config --cflags --libs libzmq) >>"$log" 2>&1 ||
        skip ZeroMQ "cc failed, see $log"
}

build_eta() {
    if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
        skip "the vendor's Java provider" "it needs a JDK (17 or later) and Maven"
        return
    fi
    # Maven asks its repository even for what it has: offline first.
    (cd "$here/eta" && { mvn -B -o -q package || mvn -B -ntp -q package; }) >>"$log" 2>&1 ||
        { skip "the vendor's Java provider" "mvn failed, see $log"; return; }
    mkdir -p "$folder/eta"
    cp -r "$here/eta/target/eta.jar" "$here/eta/target/lib" "$folder/eta/"
}

mkdir -p "$folder"
: >"$log"
# Of an earlier build: a system that does not build now would be measured as it was then.
rm -rf "$folder/nats-server" "$folder/zeromq-proxy" "$folder/eta"
"$here/prepare.sh"
build_nats
build_zeromq
build_eta
(cd "$root" && cargo build --quiet --release --locked -p tapeline -p tapeline-lab)

[ -z "$only_builds" ] || exit 0

# Of an earlier run: whoever reads it after this one failed would take it for new.
rm -f "$rows" "${rows%.json}.jsonl"
status=0
"$target/release/tapeline-lab" bench peers --folder "$folder" --out "$rows" \
    --json "${rows%.json}.jsonl" ${options[@]+"${options[@]}"} || status=$?
# 1: an aim is missed.
[ $status -le 1 ] || exit $status
