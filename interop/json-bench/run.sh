#!/usr/bin/env bash
# Times the JSON benchmark: the Rust rows and the vendor's Java rows in turns, on the same messages,
# and prints one table.
#
#   run.sh [--quick] [--rounds N] [--only rust|java]    default: 2 rounds of both
#   run.sh --generate                                   writes the RWF of the texts anew with the Java converter
#
# Rust results: criterion baselines round-1, round-2, ... below the cargo target directory.
# Java results: bench/json-java-1.json, bench/json-java-2.json, ... in it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
dictionaries=$root/crates/golden/vectors
messages=$root/crates/json/benches/messages/messages.jsonl

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

rounds=2
only=
generate=
java_options=()
rust_options=()
while [ $# -gt 0 ]; do
    case $1 in
        --quick)
            java_options=(-quick)
            rust_options=(--warm-up-time 0.3 --measurement-time 1 --sample-size 20)
            ;;
        --rounds)
            rounds=${2:?--rounds needs a number}
            shift
            ;;
        --only)
            only=${2:?--only needs rust or java}
            case $only in rust | java) ;; *) usage ;; esac
            shift
            ;;
        --generate) generate=yes ;;
        *) usage ;;
    esac
    shift
done

# Maven asks its repository even for what it has: offline first.
build_java() {
    (cd "$here" && { mvn -q -o package >/dev/null 2>&1 || mvn -q package; })
}

java_main() {
    java -cp "$here/target/json-bench.jar:$here/target/lib/*" "tapeline.jsonbench.$1" "${@:2}"
}

time_rust() {
    (cd "$root" && cargo bench --quiet -p tapeline-json --bench convert -- \
        --save-baseline "round-$1" ${rust_options[@]+"${rust_options[@]}"})
}

time_java() {
    java_main Main ${java_options[@]+"${java_options[@]}"} "$dictionaries" "$messages" \
        "$target/bench/json-java-$1.json"
}

if [ "$only" != rust ]; then
    build_java
fi
if [ -n "$generate" ]; then
    java_main Generate "$dictionaries" "$messages"
    exit
fi

mkdir -p "$target/bench"
if [ "$only" != rust ]; then
    rm -f "$target"/bench/json-java-*.json
fi
if [ "$only" != java ]; then
    rm -rf "$target"/criterion/json/*/round-*
fi
for round in $(seq "$rounds"); do
    [ "$only" = java ] || time_rust "$round"
    [ "$only" = rust ] || time_java "$round"
done
"$here/report.py" --target "$target" --json "$target/bench/json.json"
