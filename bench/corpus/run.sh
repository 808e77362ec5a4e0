#!/bin/bash
# Copies of generated mail: native against cpio, cp -a, rsync -a and a pipe of tar, and the floor of bare calls.
# Bars: 1.5x the best of them with 1 writer, 2x with 2.
#
#   bench/corpus/run.sh [FILES [ROUNDS [FS,...]]]   50000 files, 3 rounds, ext4,xfs,btrfs; as root, with the release build (make build;
#                                                   DISKPROOF=PATH for another)
#
# Rounds are interleaved by the program itself. Prints a Markdown table; ratios are taken within rounds. Programs read the source while they
# copy, native before: the last column adds to native's time what reading all of it takes (open, read and close of each file).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
files=${1:-50000}
rounds=${2:-3}
kinds=${3:-ext4,xfs,btrfs}
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
cd "$root_dir"
cargo build --release --locked --quiet --package diskproof-engine --example corpus_floor
floor="$root_dir/target/$target/release/examples/corpus_floor"
state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
loop=
down() {
    mountpoint -q "$state/floor" && umount "$state/floor"
    [ -z "$loop" ] || losetup -d "$loop"
    rm -rf "$state"
}
trap down EXIT

export DISKPROOF_STATE=$state DISKPROOF_STORE=$state/store.db
"$diskproof" run "$here/copy.yaml" --set "files=$files" --set "rounds=$rounds" --set "kinds=$kinds" --progress lines >&2
"$diskproof" export latest --json >"$state/run.json"

tree=$(find "$state/corpora" -mindepth 1 -maxdepth 1 -type d | head -1)
mkdir "$state/floor"
fallocate -l 4g "$state/floor.img"
loop=$(losetup --find --show --direct-io=on "$state/floor.img")
for _ in $(seq "$rounds"); do
    for fs in ${kinds//,/ }; do
        for writers in 1 2; do
            wipefs -a -q "$loop"
            case $fs in ext4) mkfs.ext4 -q -F "$loop" ;; *) "mkfs.$fs" -q -f "$loop" ;; esac
            mount "$loop" "$state/floor"
            mkdir "$state/floor/0" "$state/floor/1"
            targets=("$state/floor/0")
            [ "$writers" = 1 ] || targets+=("$state/floor/1")
            echo "$fs $writers $("$floor" "$tree" "${targets[@]}")" >&3
            umount "$state/floor"
        done
    done
done 3>"$state/floor.txt" >&2
python3 "$here/table.py" "$state/run.json" "$state/floor.txt"
