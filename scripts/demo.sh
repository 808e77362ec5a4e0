#!/bin/bash
# The main job, for real: with root on emulated volumes, without root in an existing directory.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$root_dir"

if can_root; then
    "$root_dir/scripts/setup.sh" tools
    say "== $binary run experiments/striped-volumes.yaml"
    status=0
    "$binary" run experiments/striped-volumes.yaml || status=$?
else
    say "Neither root nor sudo: the demo runs in a directory, $PWD/.out/demo."
    say "Left out: emulated volumes with IOPS limits, file systems made and mounted, btrfs raid0 over 1 to 4 volumes,"
    say "and the page cache of the whole machine (only the demo's own files are dropped from it)."
    mkdir -p .out/demo
    say "== $binary run experiments/lent-directory.yaml --set dir=$PWD/.out/demo"
    status=0
    "$binary" run experiments/lent-directory.yaml --set "dir=$PWD/.out/demo" || status=$?
    rmdir .out/demo
fi

case $status in
    0 | 1) ;; # the answer says what was met, missed, or is open
    *) exit "$status" ;;
esac
left=$("$binary" undo 2>/dev/null) || "$binary" undo || die "something is left on the machine; the lines above say what"
say
say "Left on the machine: $left"
say "Look again:   $binary show"
say "All runs:     $binary list"
say "For programs: $binary export latest --json | --csv"
exit "$status"
