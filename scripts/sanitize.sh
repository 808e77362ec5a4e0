#!/bin/bash
# The engine's tests under what finds misuse of memory and threads. Needs a nightly Rust, so it is no part of 'make test'.
#   all | miri | address | thread
# miri: what of the native engine holds or borders unsafe code and makes no system call that miri doesn't know: the buffers, the
# histogram and the counting of errors; not the tests with millions of steps (chance, merging): miri is a thousand times slower.
# address: the engine's unit tests and those of the native engine, worker processes included, with AddressSanitizer and its search for leaks.
# thread: those of the native engine with ThreadSanitizer and a standard library built to match, since it must see every lock. What the
# kernel does by io_uring to our memory is seen by none of them.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir" || exit 1
what=${1:-all}
cargo +nightly --version >/dev/null 2>&1 || die "there is no nightly Rust here: rustup toolchain install nightly"
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
failed=

# Says what ran, and remembers what failed.
step() {
    local name=$1
    shift
    say "== $name"
    "$@" || failed="$failed $name"
}

component() {
    rustup +nightly component list --installed 2>/dev/null | grep -q "^$1" || rustup component add --toolchain nightly "$1" >/dev/null 2>&1 ||
        { warn "the component $1 of nightly can't be had: skipped"; return 1; }
}

run_miri() {
    component miri && component rust-src || { failed="$failed miri"; return; }
    # Few random cases, for the same reason. Isolation off: proptest looks at the time and the working directory.
    export PROPTEST_CASES=4 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"
    step miri cargo +nightly miri test --target-dir target/miri --package diskproof-engine --lib -- \
        native::buffers native::histogram native::tally::tests::errors_are_kept authors_numbers --skip merging_parts
}

# $1: address | thread; then more for cargo.
sanitized() {
    local kind=$1
    shift
    # Shared libraries: a sanitizer can't be linked into a static binary.
    RUSTFLAGS="-Zsanitizer=$kind -Ctarget-feature=-crt-static" cargo +nightly test --target "$target" --target-dir "target/$kind" "$@" \
        --package diskproof-engine --test native --test native_faults --test native_refused
}

run_address() {
    step address sanitized address --lib
}

run_thread() {
    component rust-src || { failed="$failed thread"; return; }
    step thread sanitized thread -Zbuild-std
}

case $what in
    all) run_miri; run_address; run_thread ;;
    miri) run_miri ;;
    address) run_address ;;
    thread) run_thread ;;
    *) die "usage: sanitize.sh all|miri|address|thread" ;;
esac
[ -z "$failed" ] || die "sanitize: failed:$failed"
say "sanitize: $what: all good"
