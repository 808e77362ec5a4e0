#!/bin/bash
# Failures in the middle of trials on three machines: links, processes, disks, reboots. Writes the counts by kind to RESULTS.md, and
# fails if a trial that had ended is lost or counts twice, if something is left, or if `resume` doesn't complete a run. Needs root,
# sshd, iptables with the statistic match, and an hour. It runs in parts of ten, so that other tests get their turn in between.
#   FAILURES   how many to inject [200]
#   SEED       of the first part; each part has the next one [201]
#   LOGS       a folder that keeps the parts' output; parts that are there and passed aren't made again [a temporary one]
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
find_cargo || die "cargo: not found; see 'make rust'"
failures=${FAILURES:-200} seed=${SEED:-201} logs=${LOGS:-}
if [ -z "$logs" ]; then
    logs=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
    trap 'rm -rf "$logs"' EXIT
fi
parts=$(((failures + 9) / 10))
passed() { grep -q '^All .* failures: ' "$1" 2>/dev/null && grep -q 'test result: ok. 1 passed' "$1"; }
files=()
for ((part = 0; part < parts; part++)); do
    log=$logs/failures.$((seed + part))
    files+=("$log")
    passed "$log" && continue
    DISKPROOF_TEST_FAILURES=10 DISKPROOF_TEST_SEED=$((seed + part)) \
        cargo test --quiet --locked --workspace --test loop_failures -- --nocapture >"$log" 2>&1 || true
    passed "$log" || { tail -40 "$log" >&2; die "part $part (seed $((seed + part))) failed"; }
done
{
    sed -e '/^`FAILURES=/,$d' bench/failures/RESULTS.md
    echo "\`FAILURES=$failures SEED=$seed bench/failures/run.sh\` on $(date -u +%F):"
    echo
    awk -f bench/failures/sum.awk "${files[@]}"
} >"$logs/RESULTS.md"
mv "$logs/RESULTS.md" bench/failures/RESULTS.md
