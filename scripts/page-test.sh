#!/bin/bash
# Checks reports in Chromium: measures this directory's storage for a minute, writes the pages and opens them (tests/page/check.mjs).
# Needs no root, but chromium (Debian's package) and npm. $1: a folder for screenshots, if wanted.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
browser=$(command -v chromium) || die "missing: chromium (Debian's package name)"
command -v npm >/dev/null || die "missing: npm"
pictures=${1:+$(mkdir -p "$1" && realpath "$1")}
(cd tests/page && npm ci --silent --no-audit --no-fund)
bin=${DISKPROOF:-$PWD/target/x86_64-unknown-linux-gnu/release/diskproof}
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-test-page-XXXXXX")
trap 'rm -rf "$work"' EXIT
export DISKPROOF_STORE=$work/store.db DISKPROOF_STATE=$work/state
cat >"$work/same.yaml" <<EOF
experiment: same
question: Can a thing be told apart from itself?
volumes: { here: { directory: "$work" } }
stacks: { one: { on: here }, other: { on: here } }
workloads:
  randread-{depth}: { with: { depth: [1, 2, 4] }, rw: randread, bs: 4k, iodepth: depth, direct: 1, size: 32m }
measure: { trial: 1s, ramp: 0s, rounds: 4 }
EOF
"$bin" --quiet quick "$work" --seconds 1 --rounds 3 --size 32m >/dev/null
"$bin" --quiet run "$work/same.yaml" >/dev/null
for run in quick same; do
    "$bin" report "$run@last" -o "$work/$run.html"
    "$bin" export "$run@last" --json -o "$work/$run.json"
    node tests/page/check.mjs "$browser" "$work/$run.html" "$work/$run.json" ${pictures:+"$pictures/$run"}
done
"$bin" report same@last -o "$work/folder/"
for page in "$work/folder"/*.html; do
    node tests/page/check.mjs "$browser" "$page" "$work/same.json"
done
