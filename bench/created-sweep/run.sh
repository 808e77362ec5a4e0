#!/bin/bash
# experiments/raid0-by-width-created.yaml on guests that the driver `lab` creates: two kinds of machines, both schedulers, with and without
# flushes, by diskproof's own engine and Bonnie++.
#
#   bench/created-sweep/run.sh            three widths, two rounds; about an hour; as root, with the lab's image
#   bench/created-sweep/run.sh whole      all widths, 1 to 10 and 16 volumes, one round; about two hours
# DISKPROOF=PATH: another program than the release build
#
# Prints the plan with its forecast, the table of the run, and what it took. Ends with 1 if a trial is missing or if anything of the machines is left.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "the lab needs root"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export DISKPROOF_STORE=$own/store.db
form=(--set lab_types=1,2 --set flushes=0,1 --set trial=1s --set size=16m --set data=8m)
if [ "${1:-}" = whole ]; then
    shift
    rounds=1
    form+=(--set widths=1,2,3,4,5,6,7,8,9,10,16 --set odd=3,5,7,9 --set even=2,4,6,8,10 --set each=250)
else
    rounds=2
    form+=(--set widths=1,2,3 --set odd=3 --set even=2 --set count=3 --set each=400)
fi
form+=(--set "rounds=$rounds")
file=$root_dir/experiments/raid0-by-width-created.yaml
"$diskproof" plan "$file" "${form[@]}" "$@"
begin=$(date +%s)
"$diskproof" run "$file" "${form[@]}" --progress lines "$@" >&2 || echo "the run ends with $? (1: an expectation is not met)"
echo "the run took $(($(date +%s) - begin)) s"
"$diskproof" show latest
"$diskproof" export latest --json | python3 "$here/check.py" "$rounds"
if [ -e "${DISKPROOF_STATE:-/var/lib/diskproof}/created" ] && ls "${DISKPROOF_STATE:-/var/lib/diskproof}/created" | grep -q json; then
    die "claims are left in the journal"
fi
