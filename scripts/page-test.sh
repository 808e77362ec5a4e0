#!/bin/bash
# Checks a report in Chromium: measures this directory's storage for a few seconds, writes the page and opens it (tests/page/check.mjs).
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
"$bin" --quiet quick "$work" --seconds 1 --rounds 3 --size 32m >/dev/null
"$bin" report latest -o "$work/page.html"
"$bin" export latest --json -o "$work/export.json"
node tests/page/check.mjs "$browser" "$work/page.html" "$work/export.json" ${pictures:+"$pictures"}
