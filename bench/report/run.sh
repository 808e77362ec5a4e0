#!/bin/sh
# How long `report` takes and how large its pages are: for a run of 100 cells, 20 rounds and trials of 15 s as one page, and for a run of
# 10,000 cells, 3 rounds and trials of 5 s as a folder. Series at 10 Hz. No root. About 1 GB in $TMPDIR and, to judge the large run, 8 GB of
# memory; some minutes, most of them to make the runs. PROFILE=dev measures the sizes of a development build.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
profile=${PROFILE:-release}
cargo build --quiet --locked --profile "$profile" -p diskproof
place=$profile
[ "$profile" = dev ] && place=debug
bin=${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-gnu/$place/diskproof
wide() { cargo run --quiet --locked --profile "$profile" -p diskproof-store --example wide_run -- "$work/real.db" "$@"; }
DISKPROOF_STATE=$work/state "$bin" --store "$work/real.db" --quiet quick "$work" --seconds 3 --rounds 1 --size 64m >/dev/null
wide "$work/wide.db" 100 20 15
"$bin" --store "$work/wide.db" judge >/dev/null
python3 bench/report/measure.py "$bin" "$work/wide.db" "$work"
wide "$work/many.db" 10000 3 5
"$bin" --store "$work/many.db" judge >/dev/null
python3 bench/report/measure.py "$bin" "$work/many.db" "$work" many
