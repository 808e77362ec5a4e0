#!/bin/sh
# Failures in the middle of trials on three machines: links, processes, disks, reboots. Writes the counts by kind to RESULTS.md, and
# fails if a trial that had ended is lost or counts twice, if something is left, or if `resume` doesn't complete a run. Needs root,
# sshd, iptables with the statistic match, and an hour.
#   FAILURES   how many to inject [200]
#   SEED       chooses their kinds and moments [7]
set -eu
cd "$(dirname "$0")/../.."
log=$(mktemp "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -f "$log"' EXIT
DISKPROOF_TEST_FAILURES=${FAILURES:-200} DISKPROOF_TEST_SEED=${SEED:-7} \
    cargo test --quiet --locked -p diskproof --test loop_failures -- --nocapture 2>&1 | tee "$log"
grep -q '^All .* failures: ' "$log"
{
    sed -e '/^`bench.failures.run.sh` /,$d' bench/failures/RESULTS.md
    echo "\`bench/failures/run.sh\` on $(date -u +%F), seed ${SEED:-7}:"
    echo
    sed -n '/^| failure /,/^All .* failures: /p' "$log"
} >"$log.new"
mv "$log.new" bench/failures/RESULTS.md
