#!/bin/bash
# Sends and fetches runs through a proxy that cuts connections at random bytes. Writes what README.md quotes; needs Debian's docker-registry.
set -euo pipefail
cd "$(dirname "$0")/../.."
DISKPROOF_TEST_CUTS=${CUTS:-10} DISKPROOF_TEST_SEEDS=${SEEDS:-45} \
    cargo test --locked --package diskproof-share --test registry -- broken_connections --nocapture
