#!/usr/bin/env bash
# The vendor's own programs on both sides of Tapeline: EMA and ETA for Java, on this host.
#
#   run.sh [--program FILE] [TEST...]     default: builds the program for release, runs every test
#
# A TEST is a class or Class#method. TAPELINE_DIRECT=1 connects EMA's consumers straight to its
# providers instead, which shows that a test itself is right. EMA_TRACE=1 has the SDK write every
# message into target/surefire-reports. EMA_HEAP=8g gives each test more memory than 2 GiB.
#
# Without a JDK and Maven nothing is tested: status 0, or 1 if CI is set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
program=
tests=()

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --program)
            program=$(realpath "${2:?--program needs a file}")
            shift
            ;;
        -*) usage ;;
        *) tests+=("$1") ;;
    esac
    shift
done

if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
    echo "interop/ema: skipped, these tests need a JDK (17 or later) and Maven; on Debian: apt-get install openjdk-17-jdk-headless maven"
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi

if [ "${TAPELINE_DIRECT:-}" != 1 ] && [ -z "$program" ]; then
    (cd "$root" && cargo build --quiet --release --locked -p tapeline -p tapeline-exchange)
    program=${CARGO_TARGET_DIR:-$root/target}/release/tapeline
fi
export TAPELINE=$program

options=(-B -ntp -q "-Dtest.heap=${EMA_HEAP:-2g}")
if [ ${#tests[@]} -gt 0 ]; then
    options+=("-Dtest=$(IFS=,; echo "${tests[*]}")")
fi

cd "$here"
python3 -B -m unittest -q test_summary
mkdir -p target
rm -rf target/surefire-reports target/first-reports
# Maven asks its repository even for what it has: offline first. What offline cannot be had shows
# by the absence of reports.
status=0
mvn -o "${options[@]}" test >target/maven.log 2>&1 || status=$?
if [ $status -ne 0 ] && ! compgen -G 'target/surefire-reports/TEST-*.xml' >/dev/null; then
    status=0
    mvn "${options[@]}" test >target/maven.log 2>&1 || status=$?
fi
if ! compgen -G 'target/surefire-reports/TEST-*.xml' >/dev/null; then
    cat target/maven.log >&2
    exit 1
fi
reports=(target/surefire-reports)
# What failed inside the vendor's code is repeated, once; the summary names it.
again=$(python3 -B summary.py --again target/surefire-reports)
if [ -n "$again" ]; then
    mv target/surefire-reports target/first-reports
    reports=(target/first-reports target/surefire-reports)
    status=0
    mvn -o -B -ntp -q "-Dtest.heap=${EMA_HEAP:-2g}" "-Dtest=$again" test >target/maven-again.log 2>&1 || status=$?
    if ! compgen -G 'target/surefire-reports/TEST-*.xml' >/dev/null; then
        cat target/maven-again.log >&2
        exit 1
    fi
fi
if ! python3 -B summary.py "${reports[@]}"; then
    status=1
elif [ $status -ne 0 ]; then
    grep '^\[ERROR\]' target/maven.log >&2
fi
exit $status
