#!/bin/bash
# What surrounds a trial (build, prepare, start, observe, undo), now against an earlier commit, in turn on the same machine: bar 1.03x.
#
#   bench/trial/run.sh COMMIT [TIMES]     12 times; as root. Prints a Markdown table: seconds per trial besides the half second of load
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
before=${1:?an earlier commit} times=${2:-12}
state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
end() { git worktree remove --force "$state/tree" 2>/dev/null; rm -rf "$state"; }
trap end EXIT
git worktree add --quiet --detach "$state/tree" "$before"
built() { (cd "$1" && cargo build --release --locked --quiet --target-dir "$2" --package diskproof); }
built "$root_dir" target
built "$state/tree" "${BEFORE_TARGET:-$state/target}"
mkdir "$state/data"

overhead() {
    python3 "$here/measure.py" 0.5 "$1/$target/release/diskproof" "$state/store.db" \
        --state "$state/state" run "$here/overhead.yaml" --set "dir=$state/data" --seed "$2" | sort
}
for seed in $(seq "$times"); do
    # the same seed, so the same order of cells; which goes first alternates
    if [ $((seed % 2)) = 0 ]; then
        overhead target "$seed" >"$state/now"
        overhead "${BEFORE_TARGET:-$state/target}" "$seed" >"$state/old"
    else
        overhead "${BEFORE_TARGET:-$state/target}" "$seed" >"$state/old"
        overhead target "$seed" >"$state/now"
    fi
    join "$state/now" "$state/old"
done >"$state/pairs"
python3 "$here/../stacks/table.py" now before <"$state/pairs"
