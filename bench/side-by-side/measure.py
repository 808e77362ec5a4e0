"""Runs one experiment on one machine and on several, and prints the wall times and their ratio as Markdown."""

import json
import os
import shutil
import subprocess
import sys
import time

from machines import Machine

WORK, BINARY, MACHINES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
ROUNDS = 3


def measured(names, label, rounds=ROUNDS):
    """Runs the experiment on these machines; returns its wall time and the trials that overlapped."""
    targets = ", ".join(f"{name}: {{ ssh: {name} }}" for name in names)
    path = os.path.join(WORK, f"{label}.yaml")
    with open(path, "w") as file:
        file.write(f"experiment: {label}\ntargets: {{ {targets} }}\n"
                   "volumes: { vol: { count: 2, emulate: { size: 16m, iops: 100 } } }\n"
                   'stacks: { one: { on: "vol[0]" }, ext4: { on: "vol[1]", layers: [ ext4 ] } }\n'
                   "workloads: { read: { rw: randread, bs: 4k, iodepth: 4, size: 4m, direct: 1 } }\n"
                   f"measure: {{ trial: 5s, ramp: 1s, rounds: {rounds} }}\n")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": WORK, "DISKPROOF_STATE": os.path.join(WORK, "here"),
                   "DISKPROOF_SSH_CONFIG": os.path.join(WORK, "ssh_config")}
    began = time.monotonic()
    ran = subprocess.run([BINARY, "run", path, "--json"], cwd=WORK, env=environment, capture_output=True, text=True)
    took = time.monotonic() - began
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    running, most, done = 0, 0, 0
    for line in ran.stdout.splitlines():
        event = json.loads(line)
        if event["event"] == "trial_started":
            running += 1
            most = max(most, running)
        if event["event"] == "trial_finished":
            running -= 1
            done += event["record"]["outcome"] == "measured"
    return took, most, done


def main():
    machines = []
    try:
        machines.extend(Machine(WORK, f"m{number}") for number in range(MACHINES))
        with open(os.path.join(WORK, "ssh_config"), "w") as file:
            file.write("".join(machine.client() for machine in machines))
        names = [machine.name for machine in machines]
        measured(names, "warm-up", 1)  # copies the program to all machines
        print("| machines | trials | most at the same time | wall time |\n| --- | --- | --- | --- |")
        times = {}
        for label, some in (("one", names[:1]), ("all", names), ("one-again", names[:1])):
            took, most, done = measured(some, label)
            times[label] = took
            print(f"| {len(some)} | {done} | {most} | {took:.1f} s |", flush=True)
        ratio = times["all"] / ((times["one"] + times["one-again"]) / 2)
        print(f"\nratio: {ratio:.2f} (bar: 1.20)")
    finally:
        for machine in machines:
            machine.end()
        shutil.rmtree(WORK, ignore_errors=True)


main()
