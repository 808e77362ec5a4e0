#!/bin/bash
# What somebody's script does for the same stack: make it, mount it, take it down, leave the devices blank.
#   bare.sh ext4|xfs|btrfs-raid0|lvm-striped|lvm-raid1|lvm-cache|md-raid0|md-raid1|nfs|zfs-stripe DEVICE...
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
lvm-*)
    vgcreate -q -q "$name" "$@"
    case $kind in
    lvm-striped) lvcreate -q -q -y -i $# -I 64k -l 100%FREE -n data "$name" ;;
    lvm-raid1) lvcreate -q -q -y --type raid1 -m 1 --nosync -l 100%FREE -n data "$name" ;;
    lvm-cache)
        lvcreate -q -q -y -l 100%PVS -n data "$name" "$1"
        lvcreate -q -q -y -l 100%PVS -n fast "$name" "$2"
        lvconvert -q -q -y --type cache --cachevol fast --cachemode writethrough --chunksize 64k "$name/data"
        ;;
    esac
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
md-raid1)
    mdadm --quiet --create "/dev/md/$name" --run --level 1 --assume-clean --bitmap none --raid-devices $# "$@"
    ext4 "/dev/md/$name"
    mdadm --quiet --stop "/dev/md/$name"
    mdadm --quiet --zero-superblock "$@"
    ;;
nfs)
    here=$(mktemp -d)
    mkfs.ext4 -q -F -b 4096 -E nodiscard "$1" && mount "$1" "$mount"
    exportfs -o rw,no_root_squash,no_subtree_check,fsid=1 "127.0.0.1:$mount"
    mount -t nfs -o vers=4.2 "127.0.0.1:$mount" "$here" && umount "$here"
    exportfs -u "127.0.0.1:$mount"
    # the server lets go when it is told to in a later second
    until umount "$mount" 2>/dev/null; do sleep 1 && exportfs -f; done
    rmdir "$here"
    ;;
zfs-stripe)
    zpool create -f -o ashift=12 -m "$mount" "$name" "$@"
    zpool destroy "$name"
    for device; do zpool labelclear -f "$device"; done
    ;;
esac
rmdir "$mount"
wipefs -a -q "$@"
