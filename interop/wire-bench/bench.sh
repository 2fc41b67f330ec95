#!/usr/bin/env bash
# The whole wire benchmark: times of both sides, instruction counts, one table.
#
#   bench.sh [--quick] [--rounds N]     options as for run.sh
#
# The runner that counts instructions is put into .tools/ of the workspace when it is not there in
# the version of the gungraun crate. Without valgrind the table goes without instruction counts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

locked_version() {
    awk -v name="\"$1\"" '$1 == "name" { found = $3 == name } found && $1 == "version" { gsub("\"", "", $3); print $3; exit }' \
        "$root/Cargo.lock"
}

count_instructions() {
    if ! command -v valgrind >/dev/null; then
        echo "no instruction counts: valgrind is not installed" >&2
        return
    fi
    local version
    version=$(locked_version gungraun)
    grep -qs "\"gungraun-runner $version " "$root/.tools/.crates.toml" ||
        cargo install --quiet --locked --root "$root/.tools" gungraun-runner --version "$version"
    (cd "$root" && GUNGRAUN_RUNNER="$root/.tools/bin/gungraun-runner" \
        cargo bench --quiet -p tapeline-rwf --bench wire_instructions -- --save-summary=json >"$target/bench/wire-instructions.txt")
}

"$here/run.sh" "$@"
count_instructions
"$here/report.py" --target "$target" --json "$target/bench/wire.json"
