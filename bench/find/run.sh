#!/bin/bash
# The most load within a limit of latency, on an emulated volume, beside the load that a queue allows by arithmetic (M/D/1).
#
#   bench/find/run.sh                     about 14 minutes; as root, with the release build (make build; DISKPROOF=PATH for another)
#
# Prints a Markdown table; ends with 1 when an answer is further than 5 % from the arithmetic of the kernel's throttle, which lets a fixed
# number of I/Os pass in each slice of 0.1 s. Beside it stands the arithmetic of one server (M/D/1).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "emulated volumes need root"
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export DISKPROOF_STORE=$store/store.db
"$diskproof" run "$here/find.yaml" --progress lines >&2
"$diskproof" export latest --json | python3 "$here/table.py"
