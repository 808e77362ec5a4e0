#!/bin/bash
# All that can be checked without running a test.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"

say "check: formatting"
cargo fmt --all --check
say "check: lints"
cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
say "check: dependency rules, circles, documents"
cargo xtask check
say "check: generated files"
cargo xtask generate --check
if command -v shellcheck >/dev/null; then
    say "check: shell scripts"
    shellcheck -x -P scripts scripts/*.sh .ci/run
fi
if command -v cargo-deny >/dev/null; then
    say "check: licences and advisories"
    cargo deny --log-level error check
fi
say "check: all good"
