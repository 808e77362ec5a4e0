"""Loads of the native engine, of fio and of fio's t/io_uring on one CPU: each gives I/Os per second and per CPU second."""

import json
import os
import resource
import statistics
import subprocess
import time

CPU = str(max(os.sched_getaffinity(0)))
PIN = ["taskset", "-c", CPU]
DEPTH = int(os.environ.get("DEPTH", "128"))
SIZE = 1 << 30
RAMP = 0.5

TUNED = ["--fixedbufs=1", "--registerfiles=1", "--gtod_reduce=1"]
BATCHED = TUNED + ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32"]
FIO = {"fio, its defaults": [], "fio, tuned": TUNED, "fio, tuned, in batches of 32": BATCHED}


def run(argv):
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout


class Native:
    """The engine, called through its own seam by the example program native_bench."""

    def __init__(self, programs):
        self.bench = os.path.join(programs, "examples", "native_bench")
        self.worker = os.path.abspath(os.path.join(programs, "diskproof-native-worker"))

    def report(self, directory, seconds, *options, prefix=(), ramp=0.0, layout="hole"):
        words = [word for one in prefix for word in ("--prefix", one)]
        return json.loads(run([self.bench, "--worker", self.worker, *words, "--seconds", str(seconds), "--ramp", str(ramp),
                               "--layout", layout, directory, f"size={SIZE}", f"iodepth={DEPTH}", *options]))

    def rates(self, directory, seconds, *options, layout="hole"):
        report = self.report(directory, seconds, *options, prefix=PIN, ramp=RAMP, layout=layout)
        cost = report["cost"]
        ios = report["read"]["ios"]
        measured = (report["end_ns"] - report["start_ns"]) / 1e9
        return ios / measured, ios / (cost["user_seconds"] + cost["system_seconds"])


def fio_argv(file, seconds, extra, size=SIZE):
    return ["fio", "--name=job", f"--filename={file}", f"--size={size}", "--rw=randread", "--bs=4k", "--direct=1",
            "--ioengine=io_uring", f"--iodepth={DEPTH}", "--time_based", f"--runtime={int(seconds * 1000)}ms",
            "--output-format=json", *extra]


def fio_rates(file, seconds, extra, size=SIZE):
    job = json.loads(run([*PIN, *fio_argv(file, seconds, [f"--ramp_time={int(RAMP * 1000)}ms", *extra], size)]))["jobs"][0]
    iops = job["read"]["iops"]
    return iops, iops / ((job["usr_cpu"] + job["sys_cpu"]) / 100)


def t_io_uring_rates(program, file, seconds):
    """fio's own measure of the path: the median of the rates it prints every second, without latencies."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    text = run([*PIN, program, f"-d{DEPTH}", "-s32", "-c32", "-b4096", "-p0", "-B1", "-F1", "-n1", "-O1", "-R1",
                f"-r{max(3, round(seconds))}", file])
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
    each = [number(line.split("IOPS=")[1].split(",")[0]) for line in text.splitlines() if line.startswith("IOPS=")]
    if not each:
        raise SystemExit(f"{program} printed no rate: {text}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    iops = statistics.median(each)
    return iops, iops * took / cpu


def number(text):
    scale = {"K": 1e3, "M": 1e6}.get(text[-1])
    return float(text[:-1]) * scale if scale else float(text)


def callgrind(directory, argv_of, ios_of):
    """Instructions in user space per I/O: the difference of a short and a long run, so that starting and ending fall out."""

    def one(seconds):
        out = os.path.join(directory, "callgrind.out")
        text = argv_of(seconds, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--trace-children=no"])
        with open(out, encoding="utf-8") as file:
            total = next(int(line.split()[1]) for line in file if line.startswith(("summary:", "totals:")))
        return total, ios_of(text)

    short, long = one(1), one(3)
    return (long[0] - short[0]) / max(1, long[1] - short[1])


def fio_startup_ms(file):
    """fio doesn't tell when its load begins: a run of one I/O, from start to end."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        run(["fio", "--name=job", f"--filename={file}", "--size=4k", "--rw=read", "--bs=4k", "--direct=1",
             "--ioengine=io_uring", "--output-format=json"])
        took.append((time.monotonic() - begun) * 1e3)
    return statistics.median(took)
