#!/bin/bash
# Copies of generated mail: native against cpio, cp -a, rsync -a and a pipe of tar, and the floor of bare calls.
# Bars: 1.5x the best of them with 1 writer, 2x with 2.
#
#   bench/corpus/run.sh [FILES [ROUNDS]]     50000 files, 3 rounds; as root, with the release build (make build; DISKPROOF=PATH for another)
#
# Rounds are interleaved by the program itself. Prints a Markdown table; ratios are taken within rounds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
files=${1:-50000}
rounds=${2:-3}
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
cd "$root_dir"
cargo build --release --locked --quiet --package diskproof-engine --example corpus_floor
state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
loop=
down() {
    mountpoint -q "$state/mnt" && umount "$state/mnt"
    [ -z "$loop" ] || losetup -d "$loop"
    rm -rf "$state"
}
trap down EXIT

export DISKPROOF_STATE=$state DISKPROOF_STORE=$state/store.db
"$diskproof" run "$here/copy.yaml" --set "files=$files" --set "rounds=$rounds" --progress lines >&2
"$diskproof" export latest --json >"$state/run.json"

tree=$(find "$state/corpora" -mindepth 1 -maxdepth 1 -type d | head -1)
mkdir "$state/mnt"
truncate -s 4g "$state/floor.img"
fallocate -l 4g "$state/floor.img"
loop=$(losetup --find --show --direct-io=on "$state/floor.img")
for fs in ext4 xfs btrfs; do
    for writers in 1 2; do
        for _ in $(seq "$rounds"); do
            wipefs -a -q "$loop"
            case $fs in ext4) mkfs.ext4 -q -F "$loop" ;; *) "mkfs.$fs" -q -f "$loop" ;; esac
            mount "$loop" "$state/mnt"
            mkdir "$state/mnt/0" "$state/mnt/1"
            targets=("$state/mnt/0")
            [ "$writers" = 1 ] || targets+=("$state/mnt/1")
            echo "$fs $writers $("$root_dir/target/$target/release/examples/corpus_floor" "$tree" "${targets[@]}")"
            umount "$state/mnt"
        done
    done
done >"$state/floor"

python3 - "$state/run.json" "$state/floor" <<'P'
import json, statistics, sys
run = json.load(open(sys.argv[1]))
floor = {}
for line in open(sys.argv[2]):
    fs, writers, rate = line.split()
    floor.setdefault((fs, writers), []).append(float(rate))
rates = {}
for cell in run["cells"]:
    copier, writers = cell["workload"].rsplit("-", 1)
    rates[cell["stack"], writers, copier] = cell["metrics"]["files_per_second"]["values"]
copiers = ["native", "cpio", "cp", "rsync", "tar"]
print("| | " + " | ".join(copiers) + " | bare calls | native / best program (least to most of the rounds) |")
print("| --- |" + " --- |" * (len(copiers) + 2))
for fs in ["ext4", "xfs", "btrfs"]:
    for writers in ["1", "2"]:
        row = {c: rates[fs, writers, c] for c in copiers}
        best = max(copiers[1:], key=lambda c: statistics.mean(row[c]))
        ratios = [ours / theirs for ours, theirs in zip(row["native"], row[best])]
        cells = " | ".join(f"{statistics.mean(row[c]):.0f}" for c in copiers)
        print(f"| {fs}, {writers} | {cells} | {statistics.mean(floor[fs, writers]):.0f} "
              f"| {statistics.mean(ratios):.2f} of {best} ({min(ratios):.2f} to {max(ratios):.2f}) |")
P
