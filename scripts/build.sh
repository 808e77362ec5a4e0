#!/bin/bash
# Builds the release binary and proves what the README says of it: static, stripped, under 25 MB.
#   --path  only print where the binary is
set -euo pipefail
source "$(dirname "$0")/lib.sh"
[ "${1:-}" = --path ] && { echo "$binary"; exit 0; }
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
# what --version says; without git it says that nobody knows the commit
if commit=$(git log -1 --format='%h, %cs' 2>/dev/null); then export DISKPROOF_VERSION="$version ($commit)"; fi
# functions with the same code are kept once
cargo rustc --release --locked --package diskproof --bin diskproof -- -C link-arg=-Wl,--icf=all

if ! linked=$(ldd "$binary" 2>&1); then
    grep -q 'not a dynamic executable' <<<"$linked" || die "ldd $binary: $linked"
else
    grep -q 'statically linked' <<<"$linked" || die "$binary is not static:
$linked"
fi
size=$(stat -c %s "$binary")
[ "$size" -lt $((25 * 1000 * 1000)) ] || die "$binary has $size bytes, more than 25 MB"
readelf=$(command -v readelf || true)
if [ -n "$readelf" ] && "$readelf" -S "$binary" | grep -q '\.symtab'; then
    die "$binary is not stripped"
fi
say "$binary: static, stripped, $(awk "BEGIN{printf \"%.1f\", $size / 1e6}") MB"
