#!/bin/bash
# Building a stack and undoing it against the bare commands, in turn on the same volumes: bar 1.2x.
#
#   bench/stacks/run.sh [TIMES]        20 times; as root. Prints a Markdown table of medians and of the ratio's quartiles
#   bench/stacks/run.sh TIMES lab      LVM, md, NFS (whose server runs before) and ZFS in a guest of the lab, of its own
#   bench/stacks/run.sh TIMES here|lab STACK...   only these
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
times=${1:-20} where=${2:-here} stacks=${*:3} guest=diskproof-bench-stacks
cargo build --release --locked --quiet --package diskproof-stack --example stacks
program=target/$target/release/examples/stacks

state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
end() { rm -rf "$state"; }
trap end EXIT
if [ "$where" = lab ]; then
    diskproof=$(scripts/build.sh --path)
    [ -x "$diskproof" ] || die "make build first"
    end() { rm -rf "$state" && "$diskproof" lab down --name "$guest" >&2; }
    "$diskproof" lab up --name "$guest" >&2
    tar -C "$here" -cf - bare.sh -C "$root_dir/$(dirname "$program")" stacks | "$diskproof" lab ssh --name "$guest" -- tar -C /var/tmp -xf -
    stacks=${stacks:-ext4 lvm-striped lvm-raid1 lvm-cache md-raid0 md-raid1 nfs zfs-stripe}
    case " $stacks " in *" nfs "*) "$diskproof" lab ssh --name "$guest" -- systemctl start nfs-server ;; esac
    # shellcheck disable=SC2086
    "$diskproof" lab ssh --name "$guest" -- /var/tmp/stacks /var/tmp "$times" /var/tmp/bare.sh 96 $stacks
else
    "$program" "$state" "$times" "$here/bare.sh" 512 ${stacks:-ext4 xfs btrfs-raid0}
fi >"$state/pairs"
python3 "$here/table.py" diskproof "bare commands" <"$state/pairs"
