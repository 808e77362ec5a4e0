#!/bin/bash
# Prints the path of Google's description of the Compute Engine API, which the driver's tests check requests against. Takes it from the
# Python package of Google's client once, and asks nothing of the network when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
release=2.202.0
digest=aaa90064c9bb642ff1d065b22ca8958a2cb6e345909cefe70d0e5452fc50e08b
file=$PWD/target/google/compute.v1-$release.json
if ! [ -e "$file" ]; then
    command -v pip3 >/dev/null || die "missing: pip3 (Debian's package python3-pip)"
    mkdir -p target/google
    work=$(mktemp -d target/google/.XXXXXX)
    trap 'rm -rf "$work"' EXIT
    echo "google-api-python-client==$release --hash=sha256:$digest" >"$work/wanted"
    pip3 download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -d "$work" -r "$work/wanted" >&2
    python3 -m zipfile -e "$work"/*.whl "$work/all"
    # in one step: two tests may ask at the same time
    mv "$work/all/googleapiclient/discovery_cache/documents/compute.v1.json" "$file"
fi
echo "$file"
