#!/bin/bash
# Kills, dropped replies and errors at random points of the driver gce: `bench/driver-faults/gce.sh [RUNS]`, against the server in
# crates/driver/tests/gce. It prints a table, and fails if anything of ours is left or anything of others was touched. 1000 runs take about
# ten minutes. Needs no root, but python3, pip3 (once, for Google's description of the API) and curl.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
find_cargo || die "cargo: not found; see 'make rust'"
export DISKPROOF_TEST_DRIVER_FAULTS=${1:-1000}
cargo test --quiet --locked -p diskproof-driver --test gce -- --exact faults::nothing_leaks_whatever_fails --nocapture
