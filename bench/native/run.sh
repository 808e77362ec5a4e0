#!/bin/bash
# The native engine and fio side by side in one run, interleaved: 4k direct reads of a hole in a file, depth 128, one CPU.
# What comes from a hole takes no device, so this is the cost of generator and kernel path alone.
#
#   bench/native/run.sh [DIRECTORY [ROUNDS [SECONDS]]]      a directory on the root file system; 5 rounds of 3 s
#
# Prints medians and ratios. Needs fio, python3 and, for instructions per I/O, valgrind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
directory=$(mktemp -d "${1:-/var/tmp}/diskproof-bench-native.XXXXXX")
trap 'rm -rf "$directory"' EXIT
cargo build --quiet --release --package diskproof-engine --bin diskproof-native-worker
worker=$(find "${CARGO_TARGET_DIR:-target}" -path '*/release/diskproof-native-worker' -type f -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
python3 "$here/compare.py" "$(realpath "$worker")" "$directory" "${2:-5}" "${3:-3}"
