#!/bin/bash
# Sends and fetches runs through a proxy that cuts connections at random bytes, to a registry and to a bucket. Writes what README.md
# quotes; needs Debian's docker-registry, and moto (scripts/setup.sh cloud).
set -euo pipefail
cd "$(dirname "$0")/../.."
for test in registry s3; do
    DISKPROOF_TEST_CUTS=${CUTS:-10} DISKPROOF_TEST_SEEDS=${SEEDS:-45} \
        cargo test --locked --package diskproof-share --test $test -- broken_connections --nocapture
done
