#!/bin/bash
# Runs the tests in their tiers and closes with one line: N passed, N failed.
#   all | pure | loop
# A test's tier is in its name: loop_ needs root and loop devices and runs alone; lab_ and real_ never run from here.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir" || exit 1
tier=${1:-all}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
note=

run() {
    "$@" </dev/null 2>&1 | tee -a "$log" | grep --line-buffered -vE '^(running 0 tests|test result: ok\. 0 passed; 0 failed; 0 ignored.*|)$'
    local result=${PIPESTATUS[0]}
    [ "$result" -eq 0 ] || status=$result
}

if [ "$tier" != loop ]; then
    say "== tests without root"
    run cargo test --locked --workspace --no-fail-fast -- --skip loop_ --skip lab_ --skip real_
fi
if [ "$tier" != pure ]; then
    if can_root; then
        say "== tests with root and loop devices, one at a time"
        [ -n "$as_root" ] && export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="sudo -n -E"
        RUST_TEST_THREADS=1 run cargo test --locked --workspace --no-fail-fast --tests -- loop_ --skip lab_ --skip real_
    else
        note="the loop tier was NOT run: it needs root (run 'sudo make test')"
        say "== SKIPPED: $note"
    fi
fi

counts=$(awk '/^test result:/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) p += $i; if ($(i + 1) ~ /^failed/) f += $i } }
    END { printf "%d %d", p, f }' "$log")
read -r passed failed <<<"$counts"
if [ "$failed" -gt 0 ]; then
    grep -E '^test .* FAILED$' "$log" || true
elif [ "$status" -ne 0 ]; then
    say "cargo test ended with status $status (a build error or a test that died)"
fi
[ -n "$note" ] && say "$note"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] || exit 1
exit "$status"
