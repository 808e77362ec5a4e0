#!/bin/bash
# Real pairs of volumes, identical or 5 % apart, each judged by diskproof's own comparison and counted right, wrong or undecided.
#
#   bench/pairs/run.sh DISKPROOF [PAIRS [PARALLEL [ROUNDS [TRIAL]]]]      a built binary; 40 pairs of each kind, 8 runs at a time, 3 rounds of 10s
#
# Needs root, loop devices, a cgroup that limits block I/O, python3. Writes the table of bench/pairs/RESULTS.md to stdout; nothing is left behind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n 2,6p "$0"; exit 2; }
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 1; }
directory=$(mktemp -d /var/tmp/diskproof-bench-pairs.XXXXXX)
trap 'rm -rf "$directory"' EXIT
python3 "$here/pairs.py" "$directory" "$(realpath "$1")" "${2:-40}" "${3:-8}" "${4:-3}" "${5:-10s}"
