#!/bin/bash
# Runs the tests in their tiers and closes with one line: N passed, N failed, truth: R right, ... (docs/known-truth.md).
#   all | pure | page | loop | lab
# page: reports in a browser (scripts/page-test.sh) and exports by other readers (scripts/tidy-test.sh); the other tiers are cargo's tests.
# A test's tier is in its name: loop_ needs root and loop devices and runs alone; boots_ starts guests with QEMU; lab_ runs in such a
# guest (scripts/lab-test.sh); real_ never runs from here.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir" || exit 1
tier=${1:-all}
log=$(mktemp)
build_log=$(mktemp)
page_log=$(mktemp)
pure_tmp=$(mktemp -d)
guests_tmp=$(mktemp -d)
aside_logs=$(mktemp -d)
aside=()
background=
trap 'rm -rf "$log" "$build_log" "$page_log" "$pure_tmp" "$guests_tmp" "$aside_logs"; kill $background "${aside[@]}" 2>/dev/null' EXIT
status=0
note=
# a panic names its line; the frames of who called the test would bury what it said
export RUST_BACKTRACE=0

run() {
    "$@" </dev/null 2>&1 | tee -a "$log" | grep --line-buffered -vE '^(running 0 tests|test result: ok\. 0 passed; 0 failed; 0 ignored.*|)$'
    local result=${PIPESTATUS[0]}
    [ "$result" -eq 0 ] || status=$result
}

# A heading, with the time since the start: where a slow run spends it shows.
phase() { say "== $1 ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; }

# A failure that no test could tell of counts as one.
fail() {
    say "$1"
    say "test result: FAILED. 0 passed; 1 failed" >>"$log"
}

wants() { [ "$tier" = all ] || [ "$tier" = "$1" ]; }
diskproof() { $as_root "$root_dir/target/$target/debug/diskproof" "$@"; }

# One at a time: they share the machine's devices, and some measure.
loop_tests() { RUST_TEST_THREADS=1 cargo test --locked --workspace --no-fail-fast "$@" -- loop_ --skip lab_ --skip boots_ --skip real_; }

# Test programs whose loop_ tests measure or look at the page cache: nothing else may compute, read or write meanwhile, or drop caches. Of
# the others, some run beside the tests without root and the image's build, and the rest beside the guests.
measuring='loop_(bonnie|calibrate|counters|durable|extents|find|fio|limits|native|run|side_by_side|stacked|targets|together|truth)|node'
beside_units='loop_(claim|dist|faults|journal|layers|volumes|zfs)'
all_targets() { basename -as .rs crates/*/tests/*.rs | sort -u; }
targets() { all_targets | grep -xE "$1" | sed 's/^/--test=/'; }
other_targets() { all_targets | grep -vxE "$1|$2" | sed 's/^/--test=/'; }

# Runs a function beside what follows; `await_aside` waits for all of them and shows what they said.
start_aside() {
    "$@" </dev/null >"$aside_logs/${#aside[@]}" 2>&1 &
    aside+=("$!")
}
await_aside() {
    [ "${#aside[@]}" -gt 0 ] || return 0
    local at result
    for at in "${!aside[@]}"; do
        result=0
        wait "${aside[at]}" || result=$?
        [ "$result" -eq 0 ] || status=$result
    done
    phase "$1"
    for at in "${!aside[@]}"; do run cat "$aside_logs/$at"; done
    aside=()
}

# The guest's image takes minutes and no thought: it is built while tests run that measure nothing. What is built is kept.
build_image() {
    cargo binary || { fail "diskproof does not build"; return; }
    phase "the lab's image, in the background"
    nice -n 15 $as_root "$root_dir/target/$target/debug/diskproof" lab build </dev/null >"$build_log" 2>&1 &
    background=$!
    image=begun
}

image=none
await_image() {
    [ "$image" = begun ] || return 0
    if wait "$background"; then image=built; else image=failed; fi
    background= # its number may be somebody else's when we end
}

# The tests in and with guests run in three streams beside loop tests that measure nothing. Nearly all of that is computation, since guests
# are emulated. What runs in one guest leaves the processors to the tests with several guests, some of which measure. Guests of libvirt leave
# things on the machine, and the truth about guests' disks needs this machine's page cache, which loop tests drop: both take turns with the
# loop tests.
in_turn='boots_(guests|truth)'
# DISKPROOF_TEST_DAY: the number of a day. On each day a third of the tests in guests runs, since emulated guests are slow; without it, all.
boots_by_day=(boots_nfs 'boots_(targets|guests|truth)' 'boots_(created|clouds)')
second=(lab_bcache_ lab_thin_ lab_nfs_) # those of the guests' own tests that run in another guest than the rest
lab_by_day=(second none first)
day=${DISKPROOF_TEST_DAY:+$((DISKPROOF_TEST_DAY % 3))}
todays_boots=${day:+boots|${boots_by_day[day]}}
todays_lab=${day:+${lab_by_day[day]}}
todays() { targets "$1" | grep -xE -e "--test=(${todays_boots:-.*})"; }
runs_in_lab() { [ "${todays_lab:-$1}" = "$1" ]; }
low() { nice -n 10 "$@"; }
in_guest() {
    local result=0
    LAB_NAME=$1 low scripts/lab-test.sh "${@:2}" || result=$?
    diskproof lab down --name "$1" || result=$?
    return "$result"
}
boots_tests() { RUST_TEST_THREADS=1 cargo test --locked --workspace --no-fail-fast "$@" -- boots_; }
start_guests() {
    phase "tests with guests"
    if [ "$image" = failed ]; then
        fail "the lab's image could not be built, so its tests FAILED:
$(cat "$build_log")"
        return
    fi
    cat "$build_log"
    [ -n "$as_root" ] && export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="sudo -n -E"
    # of the whole workspace, as in the other tiers: for fewer packages cargo would choose other features and compile most of it anew
    cargo test --quiet --locked --workspace --tests --no-run || { fail "the tests with guests do not build"; return; }
    local crates skipped=() layer
    crates=$(grep -lE '^ *fn lab_' crates/*/tests/*.rs | cut -d/ -f2 | sort -u | paste -sd,)
    for layer in "${second[@]}"; do skipped+=(--skip "$layer"); done
    ! runs_in_lab first || start_aside in_guest diskproof-test-lab "$crates" lab_ "${skipped[@]}"
    ! runs_in_lab second || start_aside in_guest diskproof-test-lab2 run,stack "${second[@]}"
    # In a directory of their own: what they make there has names that loop tests clean away.
    TMPDIR=$guests_tmp start_aside boots_tests $(todays 'boots|boots_.*' | grep -vxE -e "--test=($in_turn)")
    [ -z "$day" ] || say "   DISKPROOF_TEST_DAY: only a third of the tests with guests: $todays_boots, and of those in one guest: $todays_lab"
}

if wants loop || wants lab; then
    if can_root; then
        if wants lab; then build_image; fi
    else
        note="the loop and lab tiers were NOT run: they need root (run 'sudo make test')"
        say "== SKIPPED: $note"
    fi
fi
skips=(--skip loop_ --skip lab_ --skip boots_ --skip real_)
unit_tests() {
    local result=0
    cargo test --locked --workspace --no-fail-fast --lib --bins -- "${skips[@]}" || result=$?
    cargo test --locked --workspace --no-fail-fast --doc || result=$?
    return "$result"
}
integration_tests() { cargo test --locked --workspace --no-fail-fast --test '*' -- "${skips[@]}"; }
# Tests by other programs: reports in a browser, exports read by pandas and DuckDB. One that can't begin counts as one that failed.
by_others() {
    echo "     Running $1"
    local result=0
    cargo binary || result=1
    [ "$result" -ne 0 ] || "$1" >"$page_log" 2>&1 || result=$?
    cat "$page_log"
    [ "$result" -eq 0 ] || grep -q '^test result: FAILED' "$page_log" || echo "test result: FAILED. 0 passed; 1 failed"
    return "$result"
}
page_tests() {
    local result=0
    by_others scripts/page-test.sh || result=$?
    by_others scripts/tidy-test.sh || result=$?
    return "$result"
}
units_and_pages() {
    local result=0
    unit_tests || result=$?
    page_tests || result=$?
    return "$result"
}
if wants pure && wants loop && [ -z "$note" ]; then
    cargo test --quiet --locked --workspace --no-run || fail "the tests do not build"
    # In a directory of their own: what they make there has names that tests with root clean away. Most wait more than they compute.
    TMPDIR=$pure_tmp start_aside units_and_pages
    TMPDIR=$pure_tmp start_aside integration_tests
else
    if wants pure; then
        phase "tests without root"
        run unit_tests
        run integration_tests
    fi
    if wants page; then
        phase "reports in a browser"
        run page_tests
    fi
fi
if wants loop && [ -z "$note" ]; then
    phase "tests with root and loop devices, one at a time"
    [ -n "$as_root" ] && export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="sudo -n -E"
    run loop_tests $(targets "$beside_units")
    await_aside "what ran beside them: tests without root, reports in a browser"
    await_image
    phase "tests that measure"
    run loop_tests --lib --bins $(targets "$measuring")
fi
await_image
if [ "$image" != none ]; then start_guests; fi
if wants loop && [ -z "$note" ]; then run loop_tests $(other_targets "$measuring" "$beside_units"); fi
if [ "$image" = built ]; then
    if [ -n "$(todays "$in_turn")" ]; then run boots_tests $(todays "$in_turn"); fi
    await_aside "what ran beside them: tests with guests"
fi

phase "end"
# the slowest test programs: cargo names a program, and its result says how long it took
awk '/^ *Running / { program = $2 == "unittests" ? $3 " " $4 : $2 }
    /^test result:/ && match($0, /finished in [0-9.]+s/) { print substr($0, RSTART + 12, RLENGTH - 13), program; program = "in the guest" }' "$log" |
    sort -rn | awk 'NR <= 12 && $1 >= 10 { printf "   %6.0f s  %s\n", $1, $2 " " $3 }'

counts=$(awk '/^test result:/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) p += $i; if ($(i + 1) ~ /^failed/) f += $i } }
    END { printf "%d %d", p, f }' "$log")
read -r passed failed <<<"$counts"
if [ "$failed" -gt 0 ]; then
    # once more what they said, where whoever keeps only the end of a log finds it
    awk '/^---- .* stdout ----$/ { p = 1 } /^failures:$/ { p = 0 } p' "$log"
    grep -E '^test .* FAILED$' "$log" || true
elif [ "$status" -ne 0 ]; then
    say "cargo test ended with status $status (a build error or a test that died)"
fi
[ -n "$note" ] && say "$note"
# the known-truth suite counts for itself (crates/cli/tests/truth/floor.rs); where it was due and told nothing, that is said
truth=$(grep -E '^truth: [0-9]+ right' "$log" | tail -n 1)
case $tier in all | loop) : "${truth:=truth: NOT run}" ;; esac
say "$passed passed, $failed failed${truth:+, $truth}"
[ "$failed" -eq 0 ] || exit 1
exit "$status"
