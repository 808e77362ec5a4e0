#!/bin/sh
# `diskproof import` beside the loader of fio-plot (PyPI), on 1000 JSON files of fio. No root. About 60 MB in $TMPDIR, a minute; needs fio,
# python3 with venv, and the network for pip. Give a Python with fio-plot in it as PYTHON to leave pip out.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet fio-plot==1.1.21
    PYTHON=$work/venv/bin/python
fi
profile=${PROFILE:-release}
cargo build --quiet --locked --profile "$profile" -p diskproof
target=${CARGO_TARGET_DIR:-target}
if [ "$profile" = dev ]; then profile=debug; fi
exec "$PYTHON" bench/import/compare.py "$work" "$target/$profile/diskproof"
