#!/usr/bin/env bash
# The matching engine of exchange-core (Apache-2.0, from Maven Central) at a flow of orders: builds it,
# and runs the flow once for each line of the standard input (src/main/java/tapeline/engine/Turns.java).
#
#   run.sh --build
#   run.sh FLOW
#
# With --build, status 1 and a line that says so where there is no JDK (17 or later) or no Maven.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${1:-}" = --build ]; then
    if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
        echo "bench-exchange: exchange-core is left out: it needs a JDK (17 or later) and Maven" >&2
        exit 1
    fi
    cd "$here"
    # Maven asks its repository even for what it has: offline first.
    mvn -B -o -q package >/dev/null 2>&1 || mvn -B -ntp -q package
    exit
fi

# A heap of one size that is touched before the start, and the collector whose barriers cost least.
exec java -Xms4g -Xmx4g -XX:+AlwaysPreTouch -XX:+UseParallelGC -cp "$here/target/engine.jar:$here/target/lib/*" \
    tapeline.engine.Turns "${1:?a flow of orders}"
