#!/bin/sh
# How long `list` and `show` wait for a store of 100,000 trials. No root. About 300 MB in $TMPDIR, two minutes.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
profile=${PROFILE:-release}
cargo run --quiet --profile "$profile" -p diskproof-store --example store_cost -- "$work"
