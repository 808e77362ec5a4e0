"""Runs the native engine's worker and fio in turn and prints medians and ratios. Called by run.sh."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

WORKER, DIRECTORY, ROUNDS, SECONDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
SIZE = 2 << 30
CPU = str(max(os.sched_getaffinity(0)))
FILE = os.path.join(DIRECTORY, "diskproof-data.0")

TUNED = ["--fixedbufs=1", "--registerfiles=1", "--gtod_reduce=1"]
BATCHED = TUNED + ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32"]
FIO = {"fio, its defaults": [], "fio, tuned": TUNED, "fio, tuned, in batches of 32": BATCHED}


def task(**changes):
    place = {"path": FILE, "offset_bytes": 0, "size_bytes": SIZE, "block_device": False}
    whole = {
        "places": [place], "rw": "randread", "rwmixread": 50, "bs_bytes": 4096, "iodepth": 128, "direct": True,
        "issue": "io_uring", "fsync": 0, "fdatasync": 0, "end_fsync": False, "buffer_compress_percentage": 0,
        "dedupe_percentage": 0, "rate": None, "random_distribution": "random", "norandommap": False,
        "continue_on_error": False, "hipri": False, "sqthread_poll": False, "invalidate": False, "seed": 1,
        "ramp_ns": 500_000_000, "trial_ns": int(SECONDS * 1e9), "asked_ns": time.monotonic_ns(),
    }
    whole.update(changes)
    path = os.path.join(DIRECTORY, "task.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(whole, file)
    return path


def run(argv):
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def native(prefix=(), **changes):
    return json.loads(run([*prefix, "taskset", "-c", CPU, WORKER, task(**changes)]))


def native_rates():
    report = native()
    ios, seconds = report["read"]["ios"], (report["end_ns"] - report["start_ns"]) / 1e9
    cpu = report["cost"]["user_seconds"] + report["cost"]["system_seconds"]
    return ios / seconds, ios / cpu


def fio_argv(extra, seconds=SECONDS, ramp=("--ramp_time=500ms",)):
    return ["taskset", "-c", CPU, "fio", "--name=job", f"--filename={FILE}", f"--size={SIZE}", "--rw=randread",
            "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=128", "--time_based",
            f"--runtime={int(seconds * 1000)}ms", *ramp, "--output-format=json", *extra]


def fio_rates(extra):
    job = json.loads(run(fio_argv(extra)))["jobs"][0]
    iops = job["read"]["iops"]
    return iops, iops / ((job["usr_cpu"] + job["sys_cpu"]) / 100)


def instructions(argv, ios_of):
    """Instructions in user space, from valgrind, of the whole process; and its I/Os."""
    out = os.path.join(DIRECTORY, "callgrind.out")
    text = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--trace-children=no", *argv])
    with open(out, encoding="utf-8") as file:
        total = next(int(line.split()[1]) for line in file if line.startswith(("summary:", "totals:")))
    return total, ios_of(json.loads(text))


def per_io(short, long):
    """The difference of two runs of different length: what starting and ending take falls out."""
    return (long[0] - short[0]) / max(1, long[1] - short[1])


def user_instructions():
    def native_run(seconds):
        # io_uring isn't known to every valgrind; then this fails and says so.
        path = task(trial_ns=int(seconds * 1e9), ramp_ns=0)
        return instructions([WORKER, path], lambda r: r["read"]["ios"])

    def fio_run(seconds, extra):
        argv = fio_argv([*extra, "--thread"], seconds, ())[3:]
        return instructions(argv, lambda r: r["jobs"][0]["read"]["total_ios"])

    found = {"native": per_io(native_run(1), native_run(4))}
    for name, extra in FIO.items():
        found[name] = per_io(fio_run(1, extra), fio_run(4, extra))
    return found


def startup_ms():
    """From asking to the begin of the load, by the node's clock."""
    return statistics.median(native(ramp_ns=0, trial_ns=20_000_000)["startup_ns"] / 1e6 for _ in range(11))


def fio_startup_ms():
    """fio doesn't tell when its load begins: a run of one I/O, from start to end."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        run(["fio", "--name=job", f"--filename={FILE}", "--size=4k", "--rw=read", "--bs=4k", "--direct=1",
             "--ioengine=io_uring", "--output-format=json"])
        took.append((time.monotonic() - begun) * 1e3)
    return statistics.median(took)


def memory_mb():
    """Beside the I/O buffers, with 16 jobs."""
    place = {"path": FILE, "offset_bytes": 0, "size_bytes": SIZE, "block_device": False}
    cost = native(places=[place] * 16, iodepth=32)["cost"]
    return (cost["peak_memory_bytes"] - cost["buffer_bytes"]) / 1e6


def main():
    with open(FILE, "wb") as file:
        file.truncate(SIZE)
    load = os.getloadavg()[0]
    rates = {"native": [], **{name: [] for name in FIO}}
    for _ in range(ROUNDS):
        rates["native"].append(native_rates())
        for name, extra in FIO.items():
            rates[name].append(fio_rates(extra))
    first = native(trial_ns=100_000_000)
    print(f"{run(['fio', '--version']).strip()}, Linux {os.uname().release}, load average {load:.1f}, CPU {CPU}")
    print(f"native: {first['issued_by']}, clock {first['clock']}")
    print(f"{ROUNDS} rounds of {SECONDS:g} s, interleaved; medians, and medians of each round's ratio\n")
    print(f"{'':30} {'IOPS':>10} {'I/Os per CPU-s':>15} {'native : it':>12} {'by CPU':>8}   of rounds")
    for name, found in rates.items():
        iops, cpu = (statistics.median(one[i] for one in found) for i in (0, 1))
        ratios = [[n[i] / f[i] for n, f in zip(rates["native"], found)] for i in (0, 1)]
        middle = [statistics.median(r) for r in ratios]
        spread = f"{min(ratios[1]):.2f} to {max(ratios[1]):.2f}"
        print(f"{name:30} {iops:10,.0f} {cpu:15,.0f} {middle[0]:12.2f} {middle[1]:8.2f}   {spread}")
    print(f"\nstart to first I/O: native {startup_ms():.1f} ms; fio, a whole run of one I/O: {fio_startup_ms():.0f} ms")
    print(f"memory beside the I/O buffers, 16 jobs: {memory_mb():.1f} MB")
    if shutil.which("valgrind") is None:
        print("instructions per I/O: valgrind isn't here")
        return
    counts = user_instructions()
    print("instructions per I/O in user space (callgrind):")
    for name, count in counts.items():
        print(f"  {name:30} {count:8.0f}   native : it {counts['native'] / count:.2f}")


main()
