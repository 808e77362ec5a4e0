#!/bin/bash
# Runs the known-truth suite several times and counts what was judged right.
#
#   bench/truth/run.sh [TIMES [quiet|busy]]      1 time, quiet. busy: beside a compiler on all cores, which builds this workspace over and over
#
# Needs root and loop devices; about 5 minutes each time, more when busy. DISKPROOF_TEST_TRUTH=a,b runs only these scenarios.
# Prints a Markdown table, and below it every scenario that was not right with the reason; RESULTS.md keeps what was published.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
times=${1:-1}
load=${2:-quiet}
case $load in quiet | busy) ;; *) die "'$load' is neither quiet nor busy" ;; esac
[[ $times =~ ^[1-9][0-9]*$ ]] || die "'$times' is no number of runs"
is_root || die "loop devices and mounts are root's"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
# of the whole workspace, as the tests are built elsewhere: for one package cargo would choose other features
suite() { RUST_BACKTRACE=0 RUST_TEST_THREADS=1 cargo test --quiet --locked --workspace --test loop_truth -- "$@" loop_; }
suite --list >/dev/null || die "the suite does not build"
scratch=$(mktemp -d -p "${TMPDIR:-/var/tmp}" diskproof-bench-truth.XXXXXX)
compiler=
down() {
    # a process group of its own, which setsid made
    [ -z "$compiler" ] || kill -- "-$compiler" 2>/dev/null || true
    [ -z "$compiler" ] || wait "$compiler" 2>/dev/null || true
    rm -rf "$scratch"
}
trap down EXIT
if [ "$load" = busy ]; then
    setsid bash -c 'while :; do
        rm -rf "$1/target"
        cargo build --quiet --offline --locked --workspace --target-dir "$1/target" || sleep 1
    done' compiler "$scratch" </dev/null >"$scratch/compiler.log" 2>&1 &
    compiler=$!
fi

# The figure before a word of the suite's own last line.
figure() { grep -oE "[0-9]+ $2" <<<"$1" | grep -oE '^[0-9]+'; }

say "| run | scenarios | right at first try | unsteady | wrong | false alarms | unmade | skipped | minutes |"
say "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for run in $(seq "$times"); do
    began=$SECONDS
    suite --nocapture </dev/null >"$scratch/$run.log" 2>&1 || true
    minutes=$(awk -v s=$((SECONDS - began)) 'BEGIN { printf "%.1f", s / 60 }')
    line=$(grep -E '^truth: [0-9]+ right' "$scratch/$run.log" | tail -n 1 || true)
    if [ -z "$line" ]; then
        say "| $run, $load | the suite told nothing | | | | | | | $minutes |"
        tail -n 20 "$scratch/$run.log" >&2
        continue
    fi
    right=$(figure "$line" right) unsteady=$(figure "$line" unsteady) wrong=$(figure "$line" wrong)
    unmade=$(figure "$line" unmade) skipped=$(figure "$line" skipped) alarms=$(figure "$line" "false alarms")
    all=$((right + unsteady + wrong + unmade + skipped))
    say "| $run, $load | $all | $right | $unsteady | $wrong | $alarms | $unmade | $skipped | $minutes |"
    grep -E '^truth (unsteady|wrong|unmade|skipped): ' "$scratch/$run.log" | sort -u |
        grep -v 'not chosen in DISKPROOF_TEST_TRUTH' | sed "s/^truth /* run $run: /" >>"$scratch/not-right" || true
done
[ ! -s "$scratch/not-right" ] || { say; cat "$scratch/not-right"; }
