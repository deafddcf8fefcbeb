#!/usr/bin/env bash
# Runs the fuzz targets one after another and prints the executions and findings of each.
#
#   scripts/fuzz.sh [seconds] [target...]   default: every target for ten minutes
#
# Needs a nightly compiler and cargo-fuzz. All code is safe Rust, so it is built without a sanitizer, which is twice as
# fast. Comparisons are not traced: tracing took four fifths of the time, and the seeds contain the keywords that matter.
# New inputs go to fuzz/target/found, findings to fuzz/artifacts/<target>; CONTRIBUTING.md says what to do with them.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)

logs=fuzz/target/logs
mkdir -p "$logs"
failed=0
rows=()
for target in "${targets[@]}"; do
  found=fuzz/target/found/$target
  mkdir -p "$found" "fuzz/regressions/$target" "fuzz/artifacts/$target"
  before=$(find "fuzz/artifacts/$target" -type f | wc -l)
  cargo +nightly fuzz run --sanitizer none --no-trace-compares "$target" \
    "$found" "fuzz/corpus/$target" "fuzz/regressions/$target" -- \
    -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    >"$logs/$target.log" 2>&1 || failed=1
  rmdir --ignore-fail-on-non-empty "fuzz/regressions/$target"
  after=$(find "fuzz/artifacts/$target" -type f | wc -l)
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target.log" | tail -1)
  rows+=("$(printf '%-10s %14s %9s' "$target" "${executions:--}" $((after - before)))")
  echo "${rows[-1]}" >&2
done

printf '%-10s %14s %9s\n' target executions findings
printf '%s\n' "${rows[@]}"
[ "$failed" = 0 ] || echo "a target failed; its log is in $logs" >&2
exit "$failed"
