#!/bin/bash
# Expectation against measurement: LVM and md stripes of 1 to 4 emulated volumes of 100 requests per second. Bar: within 5 %.
#
#   bench/expectation/run.sh [ROUNDS]     3 rounds, 4 minutes; as root, with the release build (make build; DISKPROOF=PATH for another)
#
# Prints a Markdown table; ends with 1 when an interval's end is further off than 5 %, or an expectation was not met.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "the lab's guest is root's"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export DISKPROOF_STORE=$store/store.db
"$diskproof" run "$root_dir/experiments/raid0-by-width.yaml" --set widths=1,2,3,4 --set "rounds=${1:-3}" --progress lines >&2
"$diskproof" export latest --json | python3 "$here/table.py"
