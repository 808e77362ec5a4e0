#!/usr/bin/env python3
"""Runs one experiment with each display, on a terminal of 80x24, and reads the processor time of the threads that matter."""

import fcntl
import os
import pty
import select
import shutil
import struct
import sys
import tempfile
import termios
import time

DISPLAYS = ["live", "blank", "lines"]
EXPERIMENT = """experiment: live-view-cost
volumes: {{ here: {{ directory: "{dir}" }} }}
stacks: {{ directory: {{ on: here }} }}
workloads:
  reads-1: {{ rw: randread, bs: 4k, iodepth: 1, size: 64m, direct: 1 }}
  reads-8: {{ rw: randread, bs: 4k, iodepth: 8, size: 64m, direct: 1 }}
  writes-2: {{ rw: randwrite, bs: 16k, iodepth: 2, size: 64m, direct: 1 }}
measure: {{ trial: {trial}s, ramp: 1s, rounds: 2 }}
"""
TICK = os.sysconf("SC_CLK_TCK")


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def of_process(pid):
    """User and system time of a process in seconds, also of its ended threads."""
    text = read(f"/proc/{pid}/stat")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK if fields else None


def of_view(pid):
    """Processor time of the drawing thread in seconds, to the nanosecond."""
    for task in os.listdir(f"/proc/{pid}/task"):
        if read(f"/proc/{pid}/task/{task}/comm").strip() == "diskproof-view":
            text = read(f"/proc/{pid}/task/{task}/schedstat").split()
            return int(text[0]) / 1e9 if text else None
    return None


def run(binary, display, trial, where):
    place = tempfile.mkdtemp(prefix="diskproof-bench-", dir=where)
    data = os.path.join(place, "data")
    os.mkdir(data)
    with open(os.path.join(place, "e.yaml"), "w") as file:
        file.write(EXPERIMENT.format(dir=data, trial=trial))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", DISKPROOF_STATE=f"{place}/state", DISKPROOF_STORE=f"{place}/store.db")
        os.execv(binary, [binary, "run", f"{place}/e.yaml", "--progress", display, "--sudo", "never", "--seed", "1"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    begun, seen, view, process, agent = time.monotonic(), 0, None, None, None
    while True:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                got = os.read(terminal, 65536)
            except OSError:
                got = b""
            seen += len(got)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        try:
            view = of_view(pid) or view
            process = of_process(pid) or process
            children = read(f"/proc/{pid}/task/{pid}/children").split()
            agent = of_process(children[0]) if children else agent
        except OSError:
            pass
    seconds = time.monotonic() - begun
    shutil.rmtree(place)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{display}: the run failed")
    return dict(seconds=seconds, view=view, process=process, agent=agent, bytes=seen)


def share(all_runs, key):
    values = [100 * run[key] / run["seconds"] for run in all_runs if run[key] is not None]
    if not values:
        return "-"
    return f"{sum(values) / len(values):.3f} % ({min(values):.3f} to {max(values):.3f})"


def main():
    binary, rounds, seconds, where, results = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    trial = max(1, (seconds - 12) // 6)
    runs = {display: [] for display in DISPLAYS}
    for number in range(rounds):
        for display in DISPLAYS[number % 3 :] + DISPLAYS[: number % 3]:
            runs[display].append(run(binary, display, trial, where))
    lines = [
        "# The live view: what it costs",
        "",
        f"`bench/live/run.sh`: {rounds} runs of about {seconds} s with each display, interleaved; shares of one core over the run: mean",
        "(least to most). Version: " + os.popen(f"{binary} --version").read().strip() + ".",
        "",
        "| display | drawing thread | controller | agent process | bytes to the terminal per second |",
        "| --- | --- | --- | --- | --- |",
    ]
    for display in DISPLAYS:
        every = runs[display]
        rate = sum(run["bytes"] / run["seconds"] for run in every) / len(every)
        lines.append(
            f"| `{display}` | {share(every, 'view')} | {share(every, 'process')} | {share(every, 'agent')} | {rate:.0f} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    with open(results, "w") as file:
        file.write(text)


main()
