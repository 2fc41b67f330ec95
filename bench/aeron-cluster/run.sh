#!/usr/bin/env bash
# An echo on Aeron Cluster (Apache-2.0, from Maven Central): three members, each a process of its own, and
# a client that sends one message at a time, so many of them for each line of the standard input
# (src/main/java/tapeline/cluster/Turns.java). They end when the input does.
#
#   run.sh --build
#   run.sh backoff|yield
#
# The argument is what threads do that have nothing to do. With --build, status 1 and a line that says so
# where there is no JDK (17 or later) or no Maven, or the artefacts are not to be had.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${1:-}" = --build ]; then
    if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
        echo "bench-exchange: Aeron Cluster is left out: it needs a JDK (17 or later) and Maven" >&2
        exit 1
    fi
    cd "$here"
    # Maven asks its repository even for what it has: offline first.
    mvn -B -o -q package >/dev/null 2>&1 || timeout 600 mvn -B -ntp -q package >/dev/null 2>&1 || {
        echo "bench-exchange: Aeron Cluster is left out: Maven could not build it" >&2
        exit 1
    }
    exit
fi

# The members are started with the same command. The first two are what Agrona, below Aeron, needs of a JDK
# of 17 and later; bounds are not checked, as Aeron advises where time counts. A cluster that is stopped while
# others are measured is not to be taken for dead (Member.java), which for drivers is said here, in ms.
exec java --add-opens java.base/jdk.internal.misc=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
    -Dagrona.disable.bounds.checks=true -Daeron.driver.timeout=600000 -Xms256m -Xmx256m -XX:+AlwaysPreTouch -XX:+UseParallelGC \
    -cp "$here/target/cluster.jar:$here/target/lib/*" tapeline.cluster.Turns "${1:?backoff or yield}"
