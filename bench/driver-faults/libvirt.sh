#!/bin/bash
# Kills of the driver libvirt, and failures of virsh, at random moments of create and destroy. Afterwards destroy leaves nothing, and the
# neighbours are as they were.
#
#   bench/driver-faults/libvirt.sh [FAULTS [SEED]]   200 faults, seed 1; needs root, libvirt and QEMU (scripts/setup.sh); about half an hour.
#                                                    Writes bench/driver-faults/LIBVIRT.md
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
faults=${1:-200} seed=${2:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cd "$root_dir"
DISKPROOF_TEST_FAULTS=$faults DISKPROOF_TEST_SEED=$seed RUST_TEST_THREADS=1 cargo test --locked -p diskproof \
    --test loop_driver_libvirt -- --nocapture --exact loop_driver_libvirt_leaves_nothing_after_kills_and_failures 2>&1 | tee "$log" |
    grep '^fault ' || true
grep -q 'test result: ok. 1 passed' "$log" || { tail -30 "$log" >&2; die "a fault left something behind, or a neighbour changed"; }
python3 "$here/libvirt.py" "$log" "$faults" "$seed" >"$here/LIBVIRT.md"
