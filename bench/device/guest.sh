#!/bin/bash
# The native engine and fio's defaults on a lab guest's virtio-blk and NVMe disk, paired by rounds, as bench/device/GUEST.md.
#
#   bench/device/guest.sh [ROUNDS [TRIAL]]     8 rounds of 1s, about an hour; as root, with the lab's image (make build; diskproof lab build)
#
# Prints a Markdown table.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "the lab's image is root's"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
scratch=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
"$diskproof" --store "$scratch/store.db" run "$here/guest.yaml" --set "rounds=${1:-8}" --set "trial=${2:-1s}" >"$scratch/answer" || [ $? -le 1 ] || die "$(cat "$scratch/answer")"
"$diskproof" --store "$scratch/store.db" export latest --json | python3 "$here/guest.py"
