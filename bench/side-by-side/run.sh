#!/bin/sh
# The wall time of ten machines beside that of one. The machines are sshds on this machine, in mount namespaces with a boot id, block cgroups
# and a state directory of their own; each measures its own emulated volumes, whose limits decide the time, not the processors. Needs root,
# sshd and cgroup v1 or v2 with limits of block devices. A few minutes, on a machine with nothing else to do.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -z "${BINARY:-}" ]; then
    cargo build --quiet --locked --release -p diskproof
    BINARY=${CARGO_TARGET_DIR:-target}/release/diskproof
fi
python3 bench/side-by-side/measure.py "$work" "$BINARY" "${MACHINES:-10}"
