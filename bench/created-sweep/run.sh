#!/bin/bash
# A short form of experiments/raid0-by-width-created.yaml on guests that the driver `lab` creates: three widths, two kinds of machines, both
# schedulers, with and without flushes, by diskproof's own engine and Bonnie++.
#
#   bench/created-sweep/run.sh            about an hour; as root, with the lab's image (DISKPROOF=PATH: another program than the release build)
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
short=(--set widths=1,2,3 --set odd=3 --set even=2 --set count=3 --set lab_types=1,2 --set rounds=2 --set trial=1s --set size=16m
    --set data=8m --set each=400)
file=$root_dir/experiments/raid0-by-width-created.yaml
"$diskproof" plan "$file" "${short[@]}" "$@"
begin=$(date +%s)
"$diskproof" run "$file" "${short[@]}" --progress lines "$@" >&2 || echo "the run ends with $? (1: an expectation is not met)"
echo "the run took $(($(date +%s) - begin)) s"
"$diskproof" show latest
"$diskproof" export latest --json | python3 "$here/check.py"
if [ -e "${DISKPROOF_STATE:-/var/lib/diskproof}/created" ] && ls "${DISKPROOF_STATE:-/var/lib/diskproof}/created" | grep -q json; then
    die "claims are left in the journal"
fi
