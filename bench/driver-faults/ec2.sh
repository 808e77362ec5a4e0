#!/bin/bash
# Kills, lost replies and errors at random points of the driver ec2, against moto: `bench/driver-faults/ec2.sh [RUNS] [SEED]`. 1000 runs
# take about an hour. Needs no root; `scripts/setup.sh cloud` first. Two at the same time with other seeds halve the time on two processors.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh
find_cargo || die "cargo: not found; see 'make rust'"
export DISKPROOF_TEST_FAULTS=${1:-1000} DISKPROOF_TEST_SEED=${2:-26}
cargo test --quiet --locked -p diskproof-driver --test ec2_faults -- no_fault_leaks --nocapture
