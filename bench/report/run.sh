#!/bin/sh
# How long `report` takes for a run of 100 cells, 20 rounds and series at 10 Hz, and how large the page is. No root. About 300 MB in $TMPDIR,
# some minutes, most of them to make the run.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
profile=${PROFILE:-release}
cargo build --quiet --locked --profile "$profile" -p diskproof
bin=${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-gnu/$profile/diskproof
DISKPROOF_STATE=$work/state "$bin" --store "$work/real.db" --quiet quick "$work" --seconds 3 --rounds 1 --size 64m >/dev/null
cargo run --quiet --locked --profile "$profile" -p diskproof-store --example wide_run -- "$work/real.db" "$work/wide.db" 100 20 15
"$bin" --store "$work/wide.db" judge >/dev/null
python3 bench/report/measure.py "$bin" "$work/wide.db" "$work"
