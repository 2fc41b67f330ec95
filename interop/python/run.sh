#!/usr/bin/env bash
# Python libraries of others against hub, server and source on this host: the vendor's over WebSocket and
# JSON, and Prometheus' at the metrics.
#
#   run.sh [--program FILE] [TEST...]     default: builds the program for release, runs every test
#
# A TEST is Platform.test_..., Secure.test_... or Metrics.test_..., as unittest knows it. Each library has a virtual environment of its own
# in target/, made at the first run: they do not go together in one.
#
# Without Python, or without a way to get a library, nothing is tested with it: status 0, or 1 if CI
# is set. A library that needs an older Python than there is is left out in any case.
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

skipped() {
    echo "interop/python: $1"
    [ -z "${CI:-}" ] || exit 1
}

# A Python with venv that is not newer than $1.
python_up_to() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9; do
        if "$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] > ($1))" \
            2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

# Makes the environment of a library unless it is there, as its requirements say.
environment() {
    local python=$1 requirements=$2 environment=$3
    if cmp -s "$requirements" "$environment/requirements.txt"; then
        return
    fi
    rm -rf "$environment"
    "$python" -m venv "$environment" || return
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        -r "$requirements" || return
    cp "$requirements" "$environment/requirements.txt"
}

if ! python_up_to 3,99 >/dev/null; then
    skipped "skipped, these tests need Python 3 with venv; on Debian: apt-get install python3-venv"
    exit 0
fi

if [ -z "$program" ]; then
    (cd "$root" && cargo build --quiet --release --locked -p tapeline)
    program=$(cd "$root" && realpath "${CARGO_TARGET_DIR:-target}/release/tapeline")
fi
export TAPELINE=$program

mkdir -p "$here/target"
cd "$here"
status=0
# The older library asks for a numpy that there is for no Python after 3.12.
for library in lseg:3,99:platform+secure refinitiv:3,12:platform+secure prometheus:3,99:metrics; do
    IFS=: read -r name newest subjects <<<"$library"
    chosen=()
    for subject in ${subjects//+/ }; do
        [ ${#tests[@]} -gt 0 ] || chosen+=("test_$subject")
        for test in "${tests[@]}"; do
            [ "${test%%.*}" != "${subject^}" ] || chosen+=("test_$subject.$test")
        done
    done
    [ ${#chosen[@]} -gt 0 ] || continue
    if ! python=$(python_up_to "$newest"); then
        echo "interop/python: skipped $name, which needs a Python up to $newest"
        continue
    fi
    log=target/$name-install.log
    if ! environment "$python" "requirements-$name.txt" "target/$name" >"$log" 2>&1; then
        skipped "skipped $name, which cannot be installed: $(tail -n 1 "$log")"
        continue
    fi
    if LIBRARY=$name.data "target/$name/bin/python" -B -m unittest -v "${chosen[@]}" \
        >"target/$name.log" 2>&1; then
        echo "interop/python: $name $(grep '^Ran ' "target/$name.log"), all passed"
    else
        cat "target/$name.log" >&2
        status=1
    fi
done
exit $status
