#!/bin/bash
# Kills of the driver lab, and failures of QEMU and ssh, at random moments of create and destroy. Afterwards destroy leaves nothing, and the
# neighbours are as they were.
#
#   bench/driver-faults/lab.sh [FAULTS [SEED]]   200 faults, seed 1; needs root and QEMU. Writes bench/driver-faults/LAB.md
#   BINARY   the program to test [target/x86_64-unknown-linux-gnu/debug/diskproof]
#   WORK     a folder that keeps the guest's saved state for the next series, which then begins minutes earlier [a temporary one]
#   IMAGES   a lab's folder with a built image, which is read only [/var/lib/diskproof/lab]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "QEMU and ssh are replaced in a mount namespace: run this as root"
faults=${1:-200} seed=${2:-1}
binary=${BINARY:-$root_dir/target/$target/debug/diskproof}
[ -x "$binary" ] || die "there is no $binary: cargo build, or set BINARY"
images=${IMAGES:-/var/lib/diskproof/lab}
work=${WORK:-}
if [ -z "$work" ]; then
    work=$(mktemp -d /root/dp-lab-XXXX)
    trap 'rm -rf "$work"' EXIT
fi
# The program stays the same for the whole series, whatever is compiled meanwhile.
mkdir -p "$work"
cp "$binary" "$work/diskproof"
unshare --mount --propagation private python3 -B "$here/lab.py" "$work" "$images" "$faults" "$seed" "$work/LAB.md"
cp "$work/LAB.md" "$here/LAB.md"
