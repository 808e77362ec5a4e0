#!/bin/bash
# Time and memory of push and pull of a run of 1000 trials, beside crane with the same bytes. Needs docker-registry and crane.
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
cost() { cargo run --quiet --locked --profile "$profile" -p diskproof-share --example share_cost -- "$1" "$work" "127.0.0.1:$port"; }
timed() {
    local began ended
    began=$(date +%s%N)
    "${@:2}" >/dev/null 2>&1
    ended=$(date +%s%N)
    echo "$1 $(((ended - began) / 1000000)) ms"
}
cost make
for round in 1 2 3 4 5; do
    echo "round $round"
    rm -rf "$work"/to.db "$work"/oci "$work"/data
    cost push
    cost pull
    timed "crane pull" crane pull --format oci "127.0.0.1:$port/bench:ours" "$work/oci"
    rm -rf "$work/data"
    timed "crane push" crane push "$work/oci" "127.0.0.1:$port/bench:theirs"
done
