#!/bin/bash
# What somebody's script does for the same stack: make it, mount it, take it down, leave the devices blank.
#   bare.sh ext4|xfs|btrfs-raid0 DEVICE...
set -euo pipefail
kind=$1
shift
mount=$(mktemp -d)
case $kind in
ext4) mkfs.ext4 -q -F -b 4096 -E nodiscard "$1" ;;
xfs) mkfs.xfs -q -f -K "$1" ;;
btrfs-raid0) mkfs.btrfs -q -f -K -d raid0 "$@" ;;
esac
mount "$1" "$mount"
umount "$mount"
rmdir "$mount"
wipefs -a -q "$@"
