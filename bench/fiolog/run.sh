#!/bin/sh
# Reads fio's per-I/O logs: diskproof's parser beside fio's own fiologparser.py, on the same files, in one run.
# Needs fio, python3 and cargo; no root. About two minutes and 700 MB in $TMPDIR. Usage: bench/fiolog/run.sh [ROUNDS]
set -eu
rounds=${1:-5}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

# Debian ships the script as documentation only.
peer=$work/fiologparser.py
if [ -f /usr/share/doc/fio/fiologparser.py.gz ]; then
    zcat /usr/share/doc/fio/fiologparser.py.gz > "$peer"
else
    cp "$(command -v fiologparser.py)" "$peer"
fi

(cd "$root" && cargo build --quiet --release -p diskproof-engine --example fiolog)
ours=$root/target/x86_64-unknown-linux-gnu/release/examples/fiolog

# A log of rate x 10 s rows. fiologparser.py stops at anything but four columns, so the priority column of fio 3.33 is cut off.
make_log() { # name rate
    (cd "$work" && fio --name="$1" --ioengine=null --rw=randread --bs=4k --size=1t --norandommap --time_based --runtime=10 \
        --rate_iops="$2" --disable_slat=1 --disable_clat=1 --write_lat_log="$1" --log_entries=1048576 > /dev/null)
    cut -d, -f1-4 "$work/$1_lat.1.log" > "$work/$1.log"
}
make_log one 105000
make_log ten 1050000

python3 - "$ours" "$peer" "$work/one.log" "$work/ten.log" "$work/one_lat.1.log" "$rounds" <<'EOF'
import os, statistics, subprocess, sys, tempfile, time

ours, peer, one, ten, five_columns, rounds = sys.argv[1:]

def measure(argv):
    """Wall seconds, CPU seconds and peak RSS of one process, pinned to one core."""
    began = time.monotonic()
    core = {min(os.sched_getaffinity(0))}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(argv, stdout=out, preexec_fn=lambda: os.sched_setaffinity(0, core))
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{argv} failed")
        out.seek(0)
        # ru_maxrss counts this script's own memory between fork and exec, so a small program tells its peak itself.
        peak = [line.split()[1] for line in out if line.startswith("peak_rss_kib ")]
    return wall, used.ru_utime + used.ru_stime, int(peak[0] if peak else used.ru_maxrss) / 1024

def show(what, path, samples):
    wall, cpu, rss = (statistics.median(s) for s in zip(*samples))
    size = os.path.getsize(path) / 1e6
    print(f"{what:34} {wall:8.3f} s wall {cpu:8.3f} s CPU {size / wall:7.1f} MB/s, {size / cpu:7.1f} MB per CPU second {rss:8.1f} MB RSS  (n={len(samples)})", flush=True)
    return wall, cpu, rss

for path, repeats in ((one, int(rounds)), (ten, 1)):
    rows = sum(1 for _ in open(path, "rb"))
    print(f"{rows} rows, {os.path.getsize(path) / 1e6:.1f} MB, 4 columns")
    mine, theirs = [], []
    for _ in range(repeats):  # side by side: one of each in turn
        mine.append(measure([ours, path]))
        theirs.append(measure([sys.executable, peer, "-a", path]))
    while len(mine) < int(rounds):
        mine.append(measure([ours, path]))
    a = show("diskproof", path, mine)
    b = show("fiologparser.py -a", path, theirs)
    print(f"ratio: {b[0] / a[0]:.0f} in wall time, {b[1] / a[1]:.0f} in CPU time, {b[2] / a[2]:.0f} in memory\n")
print("the same log with fio 3.33's five columns")
show("diskproof", five_columns, [measure([ours, five_columns]) for _ in range(int(rounds))])
EOF
