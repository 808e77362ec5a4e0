#!/bin/sh
# `diskproof machines status` of 100 machines beside bare ssh, clush and Ansible, on this machine alone: one sshd listens on 127.0.1.1 to
# 127.0.1.100. Needs root (for the sshd, and for a network that swallows packets), sshd, and for the peers Debian's clustershell and
# ansible-core. About 5 minutes, on a machine with nothing else to do; ROUNDS=3
# takes 3. Tells on standard error how far it is. BINARY: the program, instead of the release build of this tree.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -z "${BINARY:-}" ]; then
    cargo build --quiet --locked --release -p diskproof
    BINARY=${CARGO_TARGET_DIR:-target}/release/diskproof
fi
python3 bench/machines/compare.py "$work" "$BINARY"
