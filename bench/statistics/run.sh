#!/bin/bash
# The simulations of crates/stats, longer than in `make test`, and their tables as RESULTS.md.
#
#   bench/statistics/run.sh [FACTOR]      FACTOR: times as many repetitions as the tests make (5)
#
# Seeds are fixed, so the same code gives the same tables. Takes about a minute of one CPU per unit of FACTOR.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
factor=${1:-5}
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
DISKPROOF_SIMULATION=$factor DISKPROOF_SIMULATION_TABLES=$tables nice -n 19 \
    cargo test --quiet --package diskproof-stats --test simulation
sed "s/FACTOR/$factor/" "$here/about.md" | cat - "$tables"/*.md > "$here/RESULTS.md"
