#!/bin/bash
# Building a stack and undoing it, now against an earlier commit, in turn on the same machine: bar 1.03x.
#
#   bench/stacks/before.sh COMMIT [TIMES] [STACK...]   20 times, of ext4, xfs and btrfs-raid0; as root.
#                                                      Prints a Markdown table of medians and of the ratio's quartiles
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
before=${1:?an earlier commit} times=${2:-20} stacks=${*:3}
state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
end() { git worktree remove --force "$state/tree" 2>/dev/null; rm -rf "$state"; }
trap end EXIT
git worktree add --quiet --detach "$state/tree" "$before"
built() { (cd "$1" && cargo build --release --locked --quiet --target-dir "$2" --package diskproof-stack --example stacks); }
built "$root_dir" target
built "$state/tree" "${BEFORE_TARGET:-$state/target}"
mkdir "$state/volumes"
# the median of four in a row: setting the volumes up takes longer than what is timed
four() { "$1/$target/release/examples/stacks" "$state/volumes" 4 "$here/bare.sh" 512 "$2" | cut -d' ' -f2 | sort -n | awk '{ of[NR] = $1 } END { print (of[2] + of[3]) / 2 }'; }
for _ in $(seq "$times"); do
    for stack in ${stacks:-ext4 xfs btrfs-raid0}; do
        # which goes first is drawn, so that neither always finds what the other left in the caches
        if [ $((RANDOM % 2)) = 0 ]; then
            now=$(four target "$stack") && old=$(four "${BEFORE_TARGET:-$state/target}" "$stack")
        else
            old=$(four "${BEFORE_TARGET:-$state/target}" "$stack") && now=$(four target "$stack")
        fi
        echo "$stack $now $old"
    done
done >"$state/pairs"
python3 "$here/table.py" now before <"$state/pairs"
