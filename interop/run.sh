#!/usr/bin/env bash
# All suites against one program; each runs whatever became of the others.
#
#   run.sh --program FILE
#
# What failed is said once more at the end, where a log that was cut still has it.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=$here/target
# The lines by which the suites name a test that failed, and what follows them.
names='^(interop/[a-z]+: FAILED|FAIL: |ERROR: )'
lines_after=12

mkdir -p "$logs"
failed=()
run() {
    local suite=$1
    shift
    "$here/$suite/run.sh" "$@" 2>&1 | tee "$logs/$suite.log" || failed+=("$suite")
}
run ema "$@"
# Half of its time is libraries that come over the network: beside the others, and said after them.
"$here/python/run.sh" "$@" >"$logs/python.log" 2>&1 &
python=$!
run fix "$@"
run layouts "$@"
run browser "$@"
wait "$python" || failed+=(python)
cat "$logs/python.log"
[ ${#failed[@]} -gt 0 ] || exit 0
for suite in "${failed[@]}"; do
    echo "interop: $suite failed:"
    grep -E -A "$lines_after" "$names" "$logs/$suite.log" || tail -n 30 "$logs/$suite.log"
done >&2
exit 1
