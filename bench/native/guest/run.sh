#!/bin/bash
# What this kernel or machine may lack, in a guest that has it: an NVMe disk that can be polled, and one that is pulled out under load.
#
#   bench/native/guest/run.sh [DIRECTORY]      a directory with 4 GB free (/var/tmp); about 10 minutes
#
# As root. Needs Debian's mmdebstrap, qemu-system-x86 and python3, and the release build (make build). The guest is Debian with this
# diskproof, emulated in software: its figures are no storage figures. Prints what the guest said; nothing is left behind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../../scripts/lib.sh"
is_root || die "mmdebstrap and mkfs.ext4 -d need root"
for tool in mmdebstrap qemu-system-x86_64 python3; do
    command -v "$tool" >/dev/null || die "$tool: not found; apt-get install mmdebstrap qemu-system-x86 python3"
done
binary=$("$root_dir/scripts/build.sh" --path)
[ -x "$binary" ] || die "$binary is not there: run make build"
directory=$(mktemp -d "${1:-/var/tmp}/diskproof-bench-guest.XXXXXX")
trap 'rm -rf "$directory"' EXIT

mmdebstrap --mode=root --variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --include=linux-image-cloud-amd64,udev,kmod,fio,e2fsprogs,util-linux,procps,mount \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$directory/root" >"$directory/mmdebstrap.log" 2>&1 ||
    die "mmdebstrap failed: $(tail -n3 "$directory/mmdebstrap.log")"
install -m 0755 "$binary" "$directory/root/usr/local/bin/diskproof"
install -m 0755 "$here/init" "$directory/root/init-diskproof"
cp "$here"/*.yaml "$directory/root/"
cp "$directory"/root/boot/vmlinuz-* "$directory/vmlinuz"
cp "$directory"/root/boot/initrd.img-* "$directory/initrd"
truncate -s 2G "$directory/root.img"
mkfs.ext4 -q -F -d "$directory/root" "$directory/root.img"
truncate -s 256M "$directory/polled.img" "$directory/pulled.img"
python3 "$here/boot.py" "$directory"
