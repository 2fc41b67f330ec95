#!/usr/bin/env bash
# The exchange's bytes, read by definitions of Kaitai Struct that others wrote.
#
#   run.sh [--definitions FOLDER] [--program FILE]
#
# FOLDER has files Lseg_Millennium_*.ksy; TAPELINE_DEFINITIONS names it, too. FILE is not used: the test that
# writes the bytes starts the program that it was built with.
#
# Without definitions nothing is read: status 0. Without Node.js or Python neither: status 0, or 1 if CI is set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
definitions=${TAPELINE_DEFINITIONS:-}
compiler=(kaitai-struct-compiler@0.11.0 js-yaml@5.5.0)

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --definitions) definitions=${2:?--definitions needs a folder} ;;
        --program) : "${2:?--program needs a file}" ;;
        *) usage ;;
    esac
    shift 2
done

skipped() {
    echo "interop/layouts: skipped, $1"
    [ -z "${CI:-}" ] || exit 1
    exit 0
}

if ! compgen -G "$definitions/Lseg_Millennium_*.ksy" >/dev/null; then
    echo "interop/layouts: skipped, no definitions: they are in no package; copy lseg/millennium of Open-Markets-Initiative's repository omi-kaitai-struct-definitions, and name the folder with --definitions"
    exit 0
fi
definitions=$(realpath "$definitions")
command -v node >/dev/null && command -v npm >/dev/null || skipped "this needs Node.js with npm; on Debian: apt-get install nodejs npm"
python3 -c "import venv, ensurepip" 2>/dev/null || skipped "this needs Python 3 with venv; on Debian: apt-get install python3-venv"

mkdir -p "$here/target"
cd "$here"
if [ "$(cat target/compiler.txt 2>/dev/null)" != "${compiler[*]}" ]; then
    npm install --silent --no-save --no-package-lock --prefix target/node "${compiler[@]}" \
        >target/npm.log 2>&1 || skipped "the compiler cannot be installed: $(tail -n 1 target/npm.log)"
    echo "${compiler[*]}" >target/compiler.txt
fi
if ! cmp -s requirements.txt target/python/requirements.txt; then
    rm -rf target/python
    { python3 -m venv target/python && target/python/bin/pip install --quiet --disable-pip-version-check -r requirements.txt; } \
        >target/pip.log 2>&1 || skipped "the runtime cannot be installed: $(tail -n 1 target/pip.log)"
    cp requirements.txt target/python/
fi

target/python/bin/python -B -m unittest -q test_read 2>target/test_read.log || {
    cat target/test_read.log >&2
    exit 1
}
rm -rf target/classes target/bytes
mkdir -p target/classes target/bytes
NODE_PATH=target/node/node_modules node compile.js "$definitions" target/classes
(cd "$root" && TAPELINE_LAYOUTS=$here/target/bytes cargo test --quiet --locked -p tapeline-exchange --test it layouts:: >"$here/target/cargo.log" 2>&1) || {
    cat target/cargo.log >&2
    exit 1
}
target/python/bin/python -B read.py target/classes target/bytes/samples.jsonl target/bytes/day.jsonl
