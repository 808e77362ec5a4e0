#!/bin/bash
# Kills of the driver libvirt, and failures of virsh, at random moments of create and destroy. Afterwards destroy leaves nothing, and the
# neighbours are as they were.
#
#   bench/driver-faults/libvirt.sh [PARTS [SEED]]   4 parts of 50 faults, seeds from 1; needs root, libvirt and QEMU (scripts/setup.sh);
#                                                   about 5 minutes a part. Writes bench/driver-faults/LIBVIRT.md
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
parts=${1:-4} seed=${2:-1}
log=$(mktemp)
trap 'rm -f "$log" "$log.part"' EXIT
cd "$root_dir"
# Each part has hosts of its own, so other tests that need the machine alone get their turn in between.
for ((part = 0; part < parts; part++)); do
    DISKPROOF_TEST_FAULTS=50 DISKPROOF_TEST_SEED=$((seed + part)) RUST_TEST_THREADS=1 cargo test --locked -p diskproof \
        --test loop_driver_libvirt -- --nocapture --exact loop_driver_libvirt_leaves_nothing_after_kills_and_failures >"$log.part" 2>&1 || true
    grep '^fault ' "$log.part" | tee -a "$log"
    grep -q 'test result: ok. 1 passed' "$log.part" ||
        { tail -30 "$log.part" >&2; die "a fault left something behind, or a neighbour changed"; }
done
python3 "$here/libvirt.py" "$log" "$parts $seed" >"$here/LIBVIRT.md"
