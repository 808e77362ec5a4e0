#!/bin/bash
# What the live view costs: its thread, its process and the agent process, beside --progress lines and blank; the runs are interleaved.
#
#   bench/live/run.sh [ROUNDS [SECONDS [DIR]]]   3 rounds of runs of 60 s each in /var/tmp; no root; with the release build
#                                                (DISKPROOF=PATH for another). Writes bench/live/RESULTS.md
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
exec python3 "$here/measure.py" "$diskproof" "${1:-3}" "${2:-60}" "${3:-/var/tmp}" "$here/RESULTS.md"
