#!/bin/bash
# Checks reports in Chromium: makes pages of real runs and opens them (tests/page/check.mjs). Needs no root. It measures this directory's
# storage for half a minute and asserts nothing about its speed; tests/page/demo.db is a stored run of `make demo`.
# $1: a folder for screenshots, if wanted. DISKPROOF: another binary than the development build.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
browser=$(command -v chromium) || die "missing: chromium (Debian's package name); scripts/setup.sh test installs it"
page_tools_are_there || die "missing: the packages of tests/page; scripts/setup.sh test installs them"
pictures=${1:+$(mkdir -p "$1" && realpath "$1")}
bin=${DISKPROOF:-${CARGO_TARGET_DIR:-$PWD/target}/$target/debug/diskproof}
[ -x "$bin" ] || die "missing: $bin; build it, or name another by DISKPROOF"
# on a disk: TMPDIR may be memory, and this measures
work=$(mktemp -d "${TMPDIR:-/var/tmp}/diskproof-test-page-XXXXXX")
trap 'rm -rf "$work"' EXIT
pages=$work/pages
mkdir "$pages" "$work/home"
# Chromium and npm keep things in the home directory.
export HOME=$work/home DISKPROOF_STORE=$work/store.db DISKPROOF_STATE=$work/state
cat >"$work/same.yaml" <<EOF
experiment: same
question: Can a thing be told apart from itself?
volumes: { here: { directory: "$work" } }
stacks: { one: { on: here }, other: { on: here } }
workloads:
  randread-{depth}: { with: { depth: [1, 2] }, rw: randread, bs: 4k, iodepth: depth, direct: 1, size: 32m }
measure: { trial: 1s, ramp: 0s, rounds: 3 }
EOF
# Says something only if it fails.
quietly() { "$@" >"$work/said" 2>&1 || { cat "$work/said"; die "failed: $*"; }; }
# One round: marks of single trials. Three rounds and two equal stacks: intervals, ratios, ties.
quietly "$bin" --quiet quick "$work" --seconds 1 --rounds 1 --size 32m
quietly "$bin" --quiet run "$work/same.yaml"
# The page of a run, and the export that it must agree with. $1: its name here, $2: the run
page_of() {
    "$bin" report "$2" -o "$pages/$1.html"
    "$bin" export "$2" --json -o "$pages/$1.json"
}
page_of quick quick@last
page_of same same@last
quietly "$bin" report --all "$pages/site"
quietly "$bin" report same@last -o "$pages/folder/"
cp tests/page/demo.db "$work/demo.db"
DISKPROOF_STORE=$work/demo.db page_of demo latest
node tests/page/check.mjs "$browser" "$pages" ${pictures:+"$pictures"}
