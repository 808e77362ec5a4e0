"""Has several machines load one directory at the same time, and prints how far they overlapped as Markdown."""

import json
import os
import shutil
import statistics
import subprocess
import sys

from machines import Machine, run

WORK, BINARY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MACHINES, ROUNDS = int(sys.argv[3]), int(sys.argv[4])
SECONDS = 5


def windows(record):
    """The measured times of the machines by the controller's clock, in nanoseconds."""
    for part in record["parts"]:
        window, before = part["record"]["engine"]["window"], part["clock_before"]
        after = part.get("clock_after") or before
        yield window["start_ns"] - before["ahead_ns"], window["end_ns"] - after["ahead_ns"]


def measured(engine, names, rounds):
    """Runs the experiment; returns the spread of the starts in milliseconds and the overlap of each measured trial."""
    targets = ", ".join(f"{name}: {{ ssh: {name} }}" for name in names)
    path = os.path.join(WORK, f"{engine}.yaml")
    with open(path, "w") as file:
        file.write(f"experiment: {engine}\ntargets: {{ {targets} }}\n"
                   f"volumes: {{ share: {{ directory: {os.path.join(WORK, 'share')} }} }}\n"
                   "stacks: { share: { on: share } }\n"
                   f"workloads: {{ read: {{ engine: {engine}, rw: randread, bs: 4k, iodepth: 4, size: 8m, direct: 1, rate_iops: 100,"
                   f" on: [{', '.join(names)}] }} }}\n"
                   f"measure: {{ trial: {SECONDS}s, ramp: 500ms, rounds: {rounds} }}\n")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": WORK, "DISKPROOF_STATE": os.path.join(WORK, "here"),
                   "DISKPROOF_SSH_CONFIG": os.path.join(WORK, "ssh_config")}
    ran = subprocess.run([BINARY, "run", path, "--json"], cwd=WORK, env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    spreads, overlaps = [], []
    for event in map(json.loads, ran.stdout.splitlines()):
        if event["event"] == "trial_finished" and event["record"]["outcome"] == "measured":
            starts, ends = zip(*windows(event["record"]))
            spreads.append((max(starts) - min(starts)) / 1e6)
            overlaps.append(max(0, min(ends) - max(starts)) / (max(ends) - min(starts)))
    return spreads, overlaps


def main():
    machines = []
    image, share = os.path.join(WORK, "disk"), os.path.join(WORK, "share")
    run("truncate", "--size", "1G", image)
    run("mkfs.ext4", "-q", image)
    os.mkdir(share)
    run("mount", "-o", "loop", image, share)
    try:
        # One by one: those that are there are ended if the next one fails.
        for number in range(MACHINES):
            machines.append(Machine(WORK, f"m{number}"))
        with open(os.path.join(WORK, "ssh_config"), "w") as file:
            file.write("".join(machine.client() for machine in machines))
        names = [machine.name for machine in machines]
        measured("native", names, 1)  # copies the program to all machines
        print("| engine | trials | overlap, median | least | spread of starts, median | most |\n| --- | --- | --- | --- | --- | --- |")
        for engine in ("native", "fio"):
            spreads, overlaps = measured(engine, names, ROUNDS)
            print(f"| {engine} | {len(spreads)} | {statistics.median(overlaps):.2%} | {min(overlaps):.2%} |"
                  f" {statistics.median(spreads):.1f} ms | {max(spreads):.1f} ms |", flush=True)
    finally:
        for machine in machines:
            machine.end()
        run("umount", share)
        shutil.rmtree(WORK, ignore_errors=True)


main()
