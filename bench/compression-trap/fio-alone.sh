#!/bin/bash
# What fio alone says of the eight cells of experiments/compression-trap.yaml: the same file system, files and options,
# as a person would type them. Needs root, fio, btrfs-progs, 3 GB of space below DIR (default: a new directory in /var/tmp).
set -euo pipefail
dir=$(mktemp -d "${1:-/var/tmp}/diskproof-fio-alone.XXXXXX")
loop=
clean_up() {
    mountpoint -q "$dir/mnt" && umount "$dir/mnt"
    [ -n "$loop" ] && losetup --detach "$loop"
    rm -rf "$dir"
}
trap clean_up EXIT

head -c 2G /dev/urandom >"$dir/volume"
loop=$(losetup --find --show --direct-io=on "$dir/volume")
mkfs.btrfs --quiet --nodiscard "$loop" >/dev/null 2>&1
mkdir "$dir/mnt"
mount -o compress-force=zstd,nodiscard "$loop" "$dir/mnt"

common=(--size=512m --bs=128k --ioengine=libaio --output-format=normal)
for layout in unwritten written; do
    file=$dir/mnt/$layout
    if [ "$layout" = unwritten ]; then
        fallocate -l 512m "$file"
    else
        fio --name=lay-out --filename="$file" --rw=write --buffer_compress_percentage=60 --refill_buffers --end_fsync=1 \
            "${common[@]}" >/dev/null
    fi
    for rw in read randread; do
        for direct in 0 1; do
            sync
            echo 3 >/proc/sys/vm/drop_caches
            echo "== $rw, $layout, direct=$direct"
            fio --name=trap --filename="$file" --rw="$rw" --direct="$direct" --time_based --runtime=4 "${common[@]}" |
                grep -E '^ +READ:|IOPS=|err=|warn|note' || true
        done
    done
done
