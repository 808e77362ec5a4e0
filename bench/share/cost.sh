#!/bin/bash
# Time and memory of push and pull of a run of 1000 trials, beside crane with the same bytes, as whole processes. Needs docker-registry and
# crane.
#   ROUNDS [5]   PROFILE [release]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
profile=${PROFILE:-release}
port=${PORT:-5917}
cat >"$work/registry.yml" <<END
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $work/data } }
http: { addr: "127.0.0.1:$port" }
END
docker-registry serve "$work/registry.yml" >/dev/null 2>&1 &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
cargo build --quiet --locked --profile "$profile" -p diskproof-share --example share_cost
[ "$profile" = dev ] && folder=debug || folder=$profile
program=${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-gnu/$folder/examples/share_cost
cost() { "$program" "$1" "$work" "127.0.0.1:$port"; }
# Whole processes, from start to end.
timed() {
    local began ended
    began=$(date +%s%N)
    "${@:2}" 2>/dev/null
    ended=$(date +%s%N)
    echo "whole $1: $(((ended - began) / 1000)) us"
}
cost make
for round in $(seq "${ROUNDS:-5}"); do
    echo "round $round"
    rm -rf "$work"/to.db "$work"/oci "$work"/data "$work"/fetched
    # The time to pack is said inside and taken off.
    timed "pack and push" cost push
    timed "pull to files" cost fetch
    timed "pull and store" cost pull
    timed "crane pull" crane pull --format oci "127.0.0.1:$port/bench:ours" "$work/oci"
    rm -rf "$work/data"
    timed "crane push" crane push "$work/oci" "127.0.0.1:$port/bench:theirs"
done | python3 bench/share/table.py
