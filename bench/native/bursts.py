#!/usr/bin/env python3
"""Why p50 differs at 5000 IOPS: native, fio, and fio told to submit and reap in batches as native does, in turn on one throttled volume.

    bench/native/bursts.py [--iops 5000] [--rounds 24] [--seconds 3]        as root; needs fio, and the release build with its examples

If it is how I/Os are put together, fio in batches comes to native's p50; if it is the generator's CPU alone, it doesn't.
Prints, per generator, medians over the rounds; then the paired ratios with their 95 % intervals (Student's t on logarithms).
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import tempfile
import time

DEPTH, SIZE = 16, 1 << 30
BATCHES = [f"--iodepth_batch_submit={DEPTH}", "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={DEPTH}"]
FIO = {"fio": [], "fio in batches": BATCHES, "fio in batches, tuned": BATCHES + ["--fixedbufs=1", "--registerfiles=1"]}
FIGURES = ("IOPS", "mean us", "p50 us", "p99 us", "CPU us per I/O")
# Student's t, 97.5 %, by degrees of freedom; beyond these the next smaller one, which widens the interval.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 7: 2.365, 9: 2.262, 11: 2.201, 15: 2.131, 19: 2.093, 23: 2.069, 31: 2.040}


def run(argv, **options):
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, argv))} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout


def retried(argv):
    """A mount or loop device may be busy for a moment after its last user has ended."""
    for _ in range(50):
        if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise SystemExit(f"left behind: {' '.join(argv)} fails")


class Volume:
    """A file system on a loop device whose reads a cgroup throttles; all of it goes when the block ends."""

    def __init__(self, iops):
        self.iops, self.undo = iops, []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="diskproof-bench-bursts.", dir="/var/tmp")
        self.undo.append(["rm", "-rf", self.directory])
        image, self.mount = f"{self.directory}/image", f"{self.directory}/mount"
        os.mkdir(self.mount)
        run(["truncate", "-s", str(2 * SIZE), image])
        loop = run(["losetup", "--find", "--show", "--direct-io=on", image]).strip()
        self.undo.append(["losetup", "-d", loop])
        run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop])
        run(["mount", loop, self.mount])
        self.undo.append(["umount", self.mount])
        self.file = f"{self.mount}/file"
        run(["dd", "if=/dev/urandom", f"of={self.file}", "bs=1M", f"count={SIZE >> 20}", "conv=fsync"])
        self.cgroup = f"/sys/fs/cgroup/blkio/diskproof-bench-bursts.{os.getpid()}"
        os.mkdir(self.cgroup)
        self.undo.append(["rmdir", self.cgroup])
        number = os.stat(loop).st_rdev
        with open(f"{self.cgroup}/blkio.throttle.read_iops_device", "w", encoding="ascii") as limit:
            limit.write(f"{os.major(number)}:{os.minor(number)} {self.iops}")
        return self

    def __exit__(self, *_):
        for argv in reversed(self.undo):
            retried(argv)

    def join(self):
        with open(f"{self.cgroup}/cgroup.procs", "w", encoding="ascii") as members:
            members.write(str(os.getpid()))


def percentile(bins, share):
    """The middle of the bin in which the share lies: [[ns, count], ...] in ascending order."""
    need = share * sum(count for _, count in bins)
    for value, count in bins:
        need -= count
        if need <= 0:
            return value
    return bins[-1][0]


def native(programs, volume, seconds):
    worker = os.path.abspath(f"{programs}/diskproof-native-worker")
    report = json.loads(run([f"{programs}/examples/native_bench", "--worker", worker, "--seconds", str(seconds), "--layout", "written",
                             volume.mount, f"size={SIZE >> 2}", f"iodepth={DEPTH}"], preexec_fn=volume.join))
    read, cost = report["read"], report["cost"]
    bins, ios = read["latency"]["bins_ns"], read["ios"]
    return (ios / ((report["end_ns"] - report["start_ns"]) / 1e9), read["latency_sum_ns"] / ios / 1e3, percentile(bins, 0.5) / 1e3,
            percentile(bins, 0.99) / 1e3, (cost["user_seconds"] + cost["system_seconds"]) / ios * 1e6)


def fio(extra, volume, seconds):
    job = json.loads(run(["fio", "--name=job", f"--filename={volume.file}", f"--size={SIZE}", "--rw=randread", "--bs=4k", "--direct=1",
                          "--ioengine=io_uring", f"--iodepth={DEPTH}", "--time_based", f"--runtime={int(seconds * 1000)}ms",
                          f"--randseed={random.randrange(1 << 30)}", "--lat_percentiles=1", "--output-format=json", *extra],
                         preexec_fn=volume.join))["jobs"][0]
    read = job["read"]
    latency = read["lat_ns"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return (read["iops"], latency["mean"] / 1e3, latency["percentile"]["50.000000"] / 1e3, latency["percentile"]["99.000000"] / 1e3,
            cpu / read["total_ios"] * 1e6)


def interval(pairs):
    """The geometric mean of the pairs' ratios, and its 95 % interval."""
    logs = [math.log(a / b) for a, b in pairs]
    t = STUDENT[max(key for key in STUDENT if key < len(logs))]
    mean, half = statistics.fmean(logs), t * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def ratio(pairs):
    middle, low, high = interval(pairs)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="target/x86_64-unknown-linux-gnu/release")
    for name, default in (("--iops", 5000), ("--rounds", 24), ("--seconds", 3)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    generators = {"native": lambda volume: native(args.programs, volume, args.seconds)}
    for name, extra in FIO.items():
        generators[name] = lambda volume, extra=extra: fio(extra, volume, args.seconds)
    rounds = []
    with Volume(args.iops) as volume:
        for _ in range(args.rounds):
            order = random.sample(list(generators), len(generators))
            rounds.append({name: generators[name](volume) for name in order})
    print(f"{args.rounds} rounds of {args.seconds} s, {args.iops} IOPS, 4k random reads, depth {DEPTH}; medians\n")
    for name in generators:
        medians = [statistics.median(each[name][at] for each in rounds) for at in range(len(FIGURES))]
        print(f"{name:24}" + "  ".join(f"{figure} {value:,.1f}" for figure, value in zip(FIGURES, medians)))
    for other in FIO:
        print(f"\nnative : {other}")
        for at, figure in enumerate(FIGURES):
            print(f"  {figure:16}" + ratio([(each["native"][at], each[other][at]) for each in rounds]))


if __name__ == "__main__":
    main()
