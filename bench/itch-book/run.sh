#!/usr/bin/env bash
# The books of itch-book (MIT, from the Python package index) of a file of Nasdaq's messages: makes a Python
# of its own for it, and reads the file once for each line of the standard input (turns.py).
#
#   run.sh --build
#   run.sh FILE
#
# With --build, status 1 and a line that says so where there is no Python with venv, or no package for it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$here/target/bin/python
release=itch-book==0.2.1

if [ "${1:-}" = --build ]; then
    if "$python" -c 'import itch_book' 2>/dev/null; then
        exit
    fi
    if ! python3 -m venv "$here/target" >/dev/null 2>&1 ||
        ! "$here/target/bin/pip" install --quiet --disable-pip-version-check "$release"; then
        echo "bench-exchange: itch-book is left out: it needs python3 with venv, 3.10 or later" >&2
        exit 1
    fi
    exit
fi

exec "$python" "$here/turns.py" "${1:?a file of messages}"
