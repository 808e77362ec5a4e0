#!/bin/bash
# The native engine and fio's defaults on the same device, paired and interleaved, as bench/device/RESULTS.md.
#
#   bench/device/run.sh [--grounds file,xfs,btrfs,loop] [--rw randread,randwrite,randrw] [--bs 4k,16k,128k] [--depth 1,4,32,128]
#                       [--rounds 8] [--seconds 2] [--directory /var/tmp] [--before WORKER] [--results FILE]
#
# Everything takes about two hours; any list can be shortened. Needs fio and python3; root for xfs, btrfs and loop. At most 2 GiB and twice
# `--size` MiB (1024) lie on the disk at a time, and nothing is left behind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
say "bench: building"
cargo build --quiet --release --package diskproof-engine --bins
worker=${binary%/*}/diskproof-native-worker
exec python3 "$here/measure.py" --worker "$worker" --results "$here/RESULTS.md" --command "bench/device/run.sh${*:+ $*}" "$@"
