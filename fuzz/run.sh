#!/usr/bin/env bash
# Runs fuzz targets, two at a time, and prints what each did.
#
#   run.sh SECONDS [TARGET...]      all targets when none is named
#
# New inputs go to corpus/, findings to artifacts/, logs below the cargo target
# directory. The status is 1 when a target found something.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(ls fuzz_targets | sed 's/\.rs$//')
fi
logs=${CARGO_TARGET_DIR:-target}/logs
mkdir -p "$logs"

for target in "${targets[@]}"; do
    cargo +nightly fuzz build "$target"
done

run() {
    mkdir -p "corpus/$1" "artifacts/$1"
    cargo +nightly fuzz run "$1" "corpus/$1" "seeds/$1" -- \
        -max_total_time="$seconds" -max_len=8000 -rss_limit_mb=2048 >"$logs/$1.log" 2>&1
}
export -f run
export seconds logs
status=0
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c 'run {}' || status=1

printf '%-22s %12s %8s %8s  %s\n' target executions coverage corpus result
for target in "${targets[@]}"; do
    log=$logs/$target.log
    last=$(grep -E '^#[0-9]+.*cov: ' "$log" | tail -n 1)
    runs=$(grep -oE '^Done [0-9]+' "$log" | grep -oE '[0-9]+' || echo "${last%%[[:space:]]*}" | tr -d '#')
    cov=$(grep -oE 'cov: [0-9]+' <<<"$last" | grep -oE '[0-9]+' || true)
    corpus=$(grep -oE 'corp: [0-9]+' <<<"$last" | grep -oE '[0-9]+' || true)
    found=$(grep -E '^(SUMMARY|==[0-9]+== ERROR)' "$log" | head -n 1 || true)
    printf '%-22s %12s %8s %8s  %s\n' "$target" "${runs:-?}" "${cov:-?}" "${corpus:-?}" "${found:-no finding}"
done
exit "$status"
