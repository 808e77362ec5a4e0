#!/bin/bash
# What somebody's script does for the same stack: make it, mount it, take it down, leave the devices blank.
#   bare.sh ext4|xfs|btrfs-raid0|lvm-striped|md-raid0|zfs-stripe DEVICE...
set -euo pipefail
kind=$1
shift
mount=$(mktemp -d)
name=diskproof-bare
ext4() { mkfs.ext4 -q -F -b 4096 -E nodiscard "$1" && mount "$1" "$mount" && umount "$mount"; }
case $kind in
ext4) ext4 "$1" ;;
xfs) mkfs.xfs -q -f -K "$1" && mount "$1" "$mount" && umount "$mount" ;;
btrfs-raid0) mkfs.btrfs -q -f -K -d raid0 "$@" && mount "$1" "$mount" && umount "$mount" ;;
lvm-striped)
    vgcreate -q -q "$name" "$@"
    lvcreate -q -q -y -i $# -I 64k -l 100%FREE -n data "$name"
    ext4 "/dev/$name/data"
    vgremove -q -q -f "$name"
    pvremove -q -q "$@"
    ;;
md-raid0)
    mdadm --quiet --create "/dev/md/$name" --run --level 0 --chunk 64 --raid-devices $# "$@"
    ext4 "/dev/md/$name"
    mdadm --quiet --stop "/dev/md/$name"
    mdadm --quiet --zero-superblock "$@"
    ;;
zfs-stripe)
    zpool create -f -o ashift=12 -m "$mount" "$name" "$@"
    zpool destroy "$name"
    for device; do zpool labelclear -f "$device"; done
    ;;
esac
rmdir "$mount"
wipefs -a -q "$@"
