#!/usr/bin/env bash
# QuickFIX/J as a client of the exchange's FIX door, on this host; and QuickFIX for C++, where its Python
# module is installed (scripts/prerequisites.sh quickfix).
#
#   run.sh [--program FILE] [TEST...]     default: builds the program for release, runs every test
#
# FILE is `tapeline`, with `tapeline-exchange` beside it. A TEST is a class or Class#method.
#
# Without a JDK and Maven nothing is tested: status 0, or 1 if CI is set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
program=
tests=()

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
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
    echo "interop/fix: skipped, these tests need a JDK (17 or later) and Maven; on Debian: apt-get install openjdk-17-jdk-headless maven"
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi

if [ -z "$program" ]; then
    (cd "$root" && cargo build --quiet --release --locked -p tapeline-exchange)
    program=${CARGO_TARGET_DIR:-$root/target}/release/tapeline
fi
export TAPELINE=$program

options=(-B -ntp -q)
if [ ${#tests[@]} -gt 0 ]; then
    options+=("-Dtest=$(IFS=,; echo "${tests[*]}")")
fi

cd "$here"
mkdir -p target
rm -rf target/surefire-reports
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
if ! python3 -B ../ema/summary.py target/surefire-reports; then
    status=1
elif [ $status -ne 0 ]; then
    grep '^\[ERROR\]' target/maven.log >&2
fi
if [ ${#tests[@]} -eq 0 ]; then
    python=$root/.tools/quickfix/bin/python
    [ -x "$python" ] || python=python3
    if ! "$python" -c 'import quickfix' 2>/dev/null; then
        echo "interop/fix: QuickFIX for C++ is left out: its Python module is not installed (scripts/prerequisites.sh quickfix builds it in some ten minutes)"
    elif "$python" -B -m unittest -q test_cpp >target/cpp.log 2>&1; then
        echo "interop/fix: QuickFIX for C++: passed"
    else
        echo "interop/fix: FAILED QuickFIX for C++"
        tail -n 60 target/cpp.log
        status=1
    fi
fi
exit $status
