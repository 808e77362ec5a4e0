#!/bin/bash
# Checks that pandas and DuckDB read the tidy exports: loads this directory's storage for some seconds, exports the run and compares
# every figure with the JSON export (tests/tidy/check.py). Needs no root, but python3 and pip3 (Debian's python3-pip).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
command -v pip3 >/dev/null || die "missing: pip3 (Debian's package python3-pip)"
wanted=tests/tidy/requirements.txt
modules=$PWD/target/tidy
# of the wanted versions: nothing is asked of the network when they are there
if ! cmp -s "$wanted" "$modules/requirements.txt"; then
    rm -rf "$modules"
    pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --target "$modules" -r "$wanted"
    cp "$wanted" "$modules/"
fi
bin=${DISKPROOF:-$PWD/target/$target/debug/diskproof}
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-test-tidy-XXXXXX")
trap 'rm -rf "$work"' EXIT
export DISKPROOF_STORE=$work/store.db DISKPROOF_STATE=$work/state
cat >"$work/tidy.yaml" <<EOF
experiment: tidy
volumes: { here: { directory: "$work" } }
stacks: { one: { on: here } }
workloads:
  reads-{depth}: { with: { depth: [1, 4] }, rw: randread, bs: 4k, iodepth: depth, direct: 1, size: 16m }
  writes: { rw: randwrite, bs: 4k, rate_iops: 200, size: 16m }
measure: { trial: 1s, ramp: 0s, rounds: 3 }
EOF
"$bin" --quiet run "$work/tidy.yaml" >/dev/null
for end in csv.zst parquet; do
    "$bin" export tidy@last --trials -o "$work/trials.$end"
    "$bin" export tidy@last --series -o "$work/series.$end"
done
"$bin" export tidy@last --json -o "$work/run.json"
PYTHONPATH=$modules python3 tests/tidy/check.py "$work/trials.csv.zst" "$work/series.csv.zst" "$work/trials.parquet" "$work/series.parquet" "$work/run.json"
