"""Runs one cell with and without copy_to in pairs, in a directory and on a volume with a limit, and compares the figures of its trials."""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

EXPERIMENT = """experiment: copy-to
volumes: {{ here: {{ {ground} }} }}
stacks: {{ ground: {{ {layers} }} }}
workloads: {{ reads: {{ rw: randread, bs: 4k, iodepth: 4, size: 64m, direct: 1 }} }}
measure: {{ trial: {seconds}s, ramp: 1s, rounds: {trials} }}
"""
# The directory gives what the disk gives, which varies. Memory gives what the processors give: it shows what copies take from them. The
# volume always gives its limit, so an effect below it is hidden.
GROUNDS = {
    "directory": ("a directory", "directory: \"{dir}\"", "on: here"),
    "memory": ("a directory in memory", "directory: \"{dir}\"", "on: here"),
    "limited": ("an emulated volume of 500 IOPS", "emulate: {{ size: 256m, iops: 500 }}", "layers: [ {{ ext4: {{ on: here }} }} ]"),
}
METRICS = ["iops", "read_lat_p50", "read_lat_p99"]
# What else went on while the trials ran, by the machine's own counters.
COUNTERS = {
    "others": ("processor time of other programs", "% of a processor"),
    "stolen": ("processor time that the hypervisor took", "% of a processor"),
    "written": ("bytes written to disks", "kB/s"),
}
# Two-sided 95 % quantiles of Student's t for 2 to 30 degrees of freedom.
T = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080]
T += [2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def moto():
    server = subprocess.Popen(
        [sys.executable, "-B", "-c", "from moto.server import ThreadedMotoServer as S; s = S(ip_address='127.0.0.1', port=0, verbose=False); s.start(); print(s.get_host_and_port()[1], flush=True); import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return server, int(server.stdout.readline())


def run(binary, ground, where, trials, seconds, copies, port):
    place = tempfile.mkdtemp(prefix="diskproof-bench-", dir="/dev/shm" if ground == "memory" else where)
    data = os.path.join(place, "data")
    os.mkdir(data)
    with open(os.path.join(place, "e.yaml"), "w") as file:
        _, volume, stack = GROUNDS[ground]
        file.write(EXPERIMENT.format(ground=volume.format(dir=data), layers=stack.format(), seconds=seconds, trials=trials))
    environment = dict(
        os.environ,
        HOME=place,
        DISKPROOF_STATE=f"{place}/state",
        DISKPROOF_STORE=f"{place}/store.db",
        AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{port}",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_REGION="us-east-1",
    )
    address = "s3://results/bench" if copies else "none"
    begun = time.monotonic()
    done = subprocess.run(
        [binary, "run", "e.yaml", "--copy-to", address, "--json", "--seed", "1"],
        cwd=place, env=environment, capture_output=True, text=True,
    )
    took = time.monotonic() - begun
    if done.returncode != 0 or ("copied to" in done.stderr) != copies or "not copied" in done.stderr:
        raise SystemExit(done.stderr)
    document = json.loads(subprocess.run([binary, "export", "latest", "--json"], env=environment, capture_output=True, check=True).stdout)
    shutil.rmtree(place)
    metrics = document["cells"][0]["metrics"]
    events = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "trial_finished"]
    beside = [counted(event["record"]) for event in events]
    means = {name: statistics.fmean(one[name] for one in beside) for name in COUNTERS}
    return dict(seconds=took, **means, **{name: metrics[name]["estimate"] for name in METRICS})


def counted(record):
    """What went on during one trial, from its first to its last sample."""
    evidence = record["evidence"]
    first, last = evidence["samples"][0], evidence["samples"][-1]
    seconds = (last["monotonic_ns"] - first["monotonic_ns"]) / 1e9
    window = record["engine"]["window"]
    measured = (window["end_ns"] - window["start_ns"]) / 1e9
    ticks = evidence["ticks_per_second"]
    return {
        "others": 100 * evidence["others_cpu_ticks"] / ticks / measured,
        "stolen": 100 * (last["cpu"]["steal"] - first["cpu"]["steal"]) / ticks / seconds,
        "written": 1.024 * (last["vm"]["pgpgout_kib"] - first["vm"]["pgpgout_kib"]) / seconds,
    }


def interval(values):
    """Mean and 95 % interval."""
    mean, n = statistics.fmean(values), len(values)
    half = T[n - 3] * statistics.stdev(values) / math.sqrt(n)
    return mean, mean - half, mean + half


def percent(logs):
    return [100 * (math.exp(value) - 1) for value in interval(logs)]


def compared(binary, ground, where, pairs, trials, seconds, port):
    """Lines of Markdown for one ground."""
    ratios, more, longer = {name: [] for name in METRICS}, {name: [] for name in COUNTERS}, []
    for number in range(pairs):
        order = [True, False] if number % 2 else [False, True]
        by = {copies: run(binary, ground, where, trials, seconds, copies, port) for copies in order}
        for name in METRICS:
            ratios[name].append(math.log(by[True][name] / by[False][name]))
        for name in COUNTERS:
            more[name].append(by[True][name] - by[False][name])
        longer.append((by[True]["seconds"] - by[False]["seconds"]) / trials)
    lines = [
        f"## On {GROUNDS[ground][0]}",
        "",
        "| figure | difference | 95 % interval |",
        "| --- | --- | --- |",
    ]
    ends = []
    for name in METRICS:
        mean, low, high = percent(ratios[name])
        ends.append((low, high))
        lines.append(f"| `{name}` | {mean:+.2f} % | {low:+.2f} % to {high:+.2f} % |")
    for name, (text, unit) in COUNTERS.items():
        mean, low, high = interval(more[name])
        lines.append(f"| {text} | {mean:+.3f} {unit} | {low:+.3f} to {high:+.3f} |")
    if all(-1 <= low and high <= 1 for low, high in ends):
        told = "met"
    elif all(low <= 1 and high >= -1 for low, high in ends):
        told = "not shown, as intervals reach beyond it"
    else:
        told = "missed"
    lines += ["", f"The bar, 1 %, is {told}. A run takes {statistics.fmean(longer):+.2f} s longer for each trial.", ""]
    return lines


def main():
    binary, pairs, trials, seconds, where, results = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6]
    if not 3 <= pairs <= 31:
        raise SystemExit("3 to 31 pairs")
    grounds = os.environ.get("GROUNDS", " ".join(GROUNDS)).split()
    server, port = moto()
    try:
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/results", method="PUT"))
        parts = [compared(binary, ground, where, pairs, trials, seconds, port) for ground in grounds]
    finally:
        server.stdin.close()
        server.wait()
    lines = [
        "# Copies of trials: do they move figures?",
        "",
        f"`bench/copy-to/run.sh {pairs} {trials} {seconds}`: {pairs} pairs of runs of {trials} trials of {seconds} s, with and without `copy_to`, in turn; to",
        "moto's S3 on the same machine. Differences are with copies against without: mean (geometric for ratios) and 95 % interval",
        "(t) over pairs. The counters are those of the trials' records. Version: " + os.popen(f"{binary} --version").read().strip() + ".",
        "",
    ]
    text = "\n".join(lines + [line for part in parts for line in part]).rstrip() + "\n"
    print(text)
    with open(results, "w") as file:
        file.write(text)


main()
