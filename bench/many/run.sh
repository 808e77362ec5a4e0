#!/bin/sh
# Whether eight machines that load one directory at the same time really do: the share of the time in which all ran, and the spread of
# their starts, for the native engine and for fio. The machines are sshds on this machine. Needs root, sshd and fio; about a quarter of
# an hour, on a machine with nothing else to do.
#   MACHINES [8]   ROUNDS: trials of each engine [40]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -z "${BINARY:-}" ]; then
    cargo build --quiet --locked --release -p diskproof
    BINARY=${CARGO_TARGET_DIR:-target}/release/diskproof
fi
PYTHONPATH=bench/side-by-side python3 bench/many/measure.py "$work" "$BINARY" "${MACHINES:-8}" "${ROUNDS:-40}"
