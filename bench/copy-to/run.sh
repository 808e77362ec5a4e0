#!/bin/bash
# Does copying trials elsewhere move their figures? The same cell with and without copy_to, in interleaved runs, to moto's S3 on this machine.
#
#   bench/copy-to/run.sh [PAIRS [TRIALS [SECONDS [DIR]]]]   12 pairs of runs of 4 trials of 5 s each, in /var/tmp, in memory, and on an
#                                                           emulated volume; needs root, and scripts/setup.sh cloud
#   GROUNDS: some of "directory memory limited"   RESULTS: where to write [bench/copy-to/RESULTS.md]
#   DISKPROOF: another program than the release build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
[ -d "$root_dir/target/cloud/moto" ] || die "moto is not installed: run scripts/setup.sh cloud"
export PYTHONPATH="$root_dir/target/cloud"
exec /usr/bin/python3 -B "$here/measure.py" "$diskproof" "${1:-12}" "${2:-4}" "${3:-5}" "${4:-/var/tmp}" "${RESULTS:-$here/RESULTS.md}"
