#!/usr/bin/env bash
# The page that a server shows to browsers, in a real one: Chromium without a window.
#
#   run.sh [--program FILE] [TEST...]              default: builds the program for release, runs every test
#   run.sh [--program FILE] --screenshots FOLDER   writes page-light.png, admin-dark.png and so on there instead
#
# A TEST is as test_page.Class.method or test_admin. CHROMIUM names another browser of its kind.
#
# Without Chromium and Python nothing is tested: status 0, or 1 if CI is set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
program=
screenshots=
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
        --screenshots)
            screenshots=$(realpath "${2:?--screenshots needs a folder}")
            shift
            ;;
        -*) usage ;;
        *) tests+=("$1") ;;
    esac
    shift
done

if ! command -v "${CHROMIUM:-chromium}" >/dev/null || ! command -v python3 >/dev/null; then
    echo "interop/browser: skipped, these tests need Chromium and Python 3; on Debian: apt-get install chromium python3"
    [ -z "${CI:-}" ] || exit 1
    exit 0
fi

if [ -z "$program" ]; then
    (cd "$root" && cargo build --quiet --release --locked -p tapeline -p tapeline-exchange)
    program=${CARGO_TARGET_DIR:-$root/target}/release/tapeline
fi
export TAPELINE=$program
export PYTHONDONTWRITEBYTECODE=1

cd "$here"
if [ -n "$screenshots" ]; then
    exec python3 screenshots.py "$screenshots"
fi
if [ ${#tests[@]} -eq 0 ]; then
    tests=(test_page test_admin test_book)
fi
exec python3 -m unittest -v "${tests[@]}"
