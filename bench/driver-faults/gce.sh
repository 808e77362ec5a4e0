#!/bin/bash
# A thousand faults in the driver for GCE (or as many as the argument says): kills, dropped replies and errors at random points of create and
# destroy, against the server in crates/driver/tests/gce. Prints a table, and fails if anything of ours is left or anything of others was
# touched. Needs no root; a thousand take some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DISKPROOF_TEST_DRIVER_FAULTS=${1:-1000}
exec cargo test --locked --package diskproof-driver --test gce -- --exact faults::nothing_leaks_whatever_fails --nocapture
