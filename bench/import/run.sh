#!/bin/sh
# `diskproof import` beside the loader of fio-plot (PyPI), on 1000 JSON files of fio. No root. About 60 MB in $TMPDIR, a minute; needs fio,
# python3 with venv, and the network for pip. Give a Python with fio-plot in it as PYTHON to leave pip out, and another build of diskproof as
# BEFORE to measure it in the same turns.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet fio-plot==1.1.21
    PYTHON=$work/venv/bin/python
fi
cargo build --quiet --locked --release -p diskproof
binary=$(find "${CARGO_TARGET_DIR:-target}" -path '*/release/diskproof' -type f | head -n 1)
"$PYTHON" bench/import/compare.py "$work" "$binary" ${BEFORE:+"$BEFORE"}
