#!/bin/sh
# What sampling costs: our sampler at 10 Hz with 16 block devices, beside `iostat -x 1` and `vmstat 1`, in one run.
# Needs root, sysstat, procps and fio. Usage: bench/observe/run.sh [SECONDS]
#
# CPU time is the scheduler's own (nanoseconds, /proc/PID/task/*/schedstat), taken over the same span for all, after start-up.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
devices=16
work=$(mktemp -d /tmp/diskproof-bench-observe.XXXXXX)
pids=
loops=

cleanup() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    for loop in $loops; do losetup -d "$loop" || true; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

cargo build --quiet --release -p diskproof-observe --example observe_cost
binary=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
binary=$(find "$binary" -path '*/release/examples/observe_cost' | head -n 1)

n=0
names=
while [ "$n" -lt "$devices" ]; do
    head -c 8M /dev/urandom >"$work/$n.img"
    loop=$(losetup --find --show --direct-io=on "$work/$n.img")
    loops="$loops $loop"
    names="$names ${loop#/dev/}"
    n=$((n + 1))
done

# A load on all of them, so that counters change and iostat has lines to print: four jobs, 400 reads a second in all.
fio --name=load --filename="$(echo "$loops" | sed 's/^ //; s/ /:/g')" --rw=randread --bs=4k --size=128m --numjobs=4 \
    --rate_iops=100 --time_based --runtime=$((seconds + 30)) --output=/dev/null &
engine=$!
pids="$pids $engine"
sleep 2
iostat -x 1 >"$work/iostat.txt" &
iostat=$!
vmstat 1 >"$work/vmstat.txt" &
vmstat=$!
# shellcheck disable=SC2086 # the names are words
"$binary" $((seconds + 6)) 10 "$engine" $names >"$work/ours.txt" &
ours=$!
pids="$pids $iostat $vmstat"

cpu_ns() {
    cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}
sleep 3
begin=$(date +%s%N)
o0=$(cpu_ns $ours) i0=$(cpu_ns $iostat) v0=$(cpu_ns $vmstat)
sleep "$seconds"
o1=$(cpu_ns $ours) i1=$(cpu_ns $iostat) v1=$(cpu_ns $vmstat)
end=$(date +%s%N)
wait $ours
cat "$work/ours.txt"
echo "kernel $(uname -r), $(nproc) CPUs, $(iostat -V 2>&1 | head -n 1), $(vmstat -V)"
awk -v o=$((o1 - o0)) -v i=$((i1 - i0)) -v v=$((v1 - v0)) -v ns=$((end - begin)) 'BEGIN {
    line = "%-22s %9.4f s CPU  %8.1f us per sample  %6.3f %% of a core\n"
    seconds = ns / 1e9
    printf line, "diskproof at 10 Hz", o / 1e9, o / 1e3 / (seconds * 10), 100 * o / ns
    printf line, "iostat -x 1", i / 1e9, i / 1e3 / seconds, 100 * i / ns
    printf line, "vmstat 1", v / 1e9, v / 1e3 / seconds, 100 * v / ns
    printf "per sample, ours / (iostat + vmstat): %.2f\n", o / 10 / (i + v)
    if (100 * o / ns > 1) { print "MISSED: more than 1 % of a core"; bad = 1 }
    if (o / 10 >= i + v) { print "MISSED: more per sample than iostat and vmstat together"; bad = 1 }
    exit bad
}'
