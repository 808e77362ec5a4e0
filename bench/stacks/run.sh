#!/bin/bash
# Building a stack and undoing it against the bare commands, in turn on the same volumes: bar 1.2x.
#
#   bench/stacks/run.sh [TIMES]      20 times; as root. Prints a Markdown table of medians and of the ratio's quartiles
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
cargo build --release --locked --quiet --package diskproof-stack --example stacks
state=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-XXXXXX)
trap 'rm -rf "$state"' EXIT
"target/$target/release/examples/stacks" "$state" "${1:-20}" "$here/bare.sh" | python3 -c '
import statistics, sys
pairs = {}
for line in sys.stdin:
    name, ours, bare = line.split()
    pairs.setdefault(name, []).append((float(ours), float(bare)))
print("| stack | diskproof (s) | bare commands (s) | ratio, median (quartiles) |")
print("| --- | --- | --- | --- |")
for name, all in pairs.items():
    ours, bare = (statistics.median(column) for column in zip(*all))
    low, middle, high = statistics.quantiles([o / b for o, b in all], n=4)
    print(f"| {name} | {ours:.3f} | {bare:.3f} | {middle:.2f} ({low:.2f} to {high:.2f}) |")
'
