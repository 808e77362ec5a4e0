#!/usr/bin/env python3
"""Kills runs with the live view at random moments, and counts after how many the terminal is as it was before.

    bench/live/kills.py DISKPROOF [TIMES [SEED [SIGNAL...]]]     100 times for each signal; no root; the load is of 50 reads a second in /dev/shm
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

EXPERIMENT = """experiment: kills
volumes: {{ here: {{ directory: "{dir}" }} }}
stacks: {{ directory: {{ on: here }} }}
workloads: {{ reads: {{ rw: randread, bs: 4k, rate_iops: 50, size: 1m, direct: 0 }} }}
measure: {{ trial: 1s, ramp: 0s, rounds: 50 }}
"""
TERMINAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/cli/tests/live/terminal.py")
# SIGTSTP is followed by SIGCONT and Ctrl-C: the terminal must be as before both while stopped and at the end.
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGUSR1", "SIGALRM", "SIGTSTP"]


def kill(binary, name, seconds):
    with tempfile.TemporaryDirectory(prefix="diskproof-bench-", dir="/dev/shm") as place:
        data = os.path.join(place, "data")
        os.mkdir(data)
        with open(os.path.join(place, "e.yaml"), "w") as file:
            file.write(EXPERIMENT.format(dir=data))
        scenario = "stop" if name == "SIGTSTP" else f"kill:{int(getattr(signal, name))}:{seconds:.3f}"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": place,
            "TERM": "xterm",
            "DISKPROOF_STATE": f"{place}/state",
            "DISKPROOF_SUDO": "never",
        }
        argv = [sys.executable, TERMINAL, scenario, binary, "run", f"{place}/e.yaml"]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            return False, done.stderr
        told = json.loads(done.stdout)
        return told["restored"] and told.get("restored_while_stopped", True), done.stdout


def main():
    binary, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    for name in sys.argv[4:] or SIGNALS:
        moments = [chance.uniform(0, 2.5) for _ in range(times)]
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda moment: kill(binary, name, moment), moments))
        right = sum(restored for restored, _ in results)
        print(f"{name}: terminal as before after {right} of {times}", flush=True)
        for restored, told in results:
            if not restored:
                print(f"    {told.strip()[:600]}", flush=True)


main()
