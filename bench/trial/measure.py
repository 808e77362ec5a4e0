"""Runs an experiment and tells of each cell the median seconds of a trial besides its load: `CELL SECONDS` a line.

Arguments: seconds of load, the program, its store, then the rest of the run's arguments.
"""

import json
import statistics
import subprocess
import sys
import time

load, program, begun, besides = float(sys.argv[1]), [sys.argv[2], "--store", sys.argv[3]], 0.0, {}
with subprocess.Popen(program + ["--progress", "json", *sys.argv[4:]], stdout=subprocess.PIPE, text=True) as run:
    for line in run.stdout:
        now = time.monotonic()
        event = json.loads(line)
        if event["event"] == "trial_started":
            begun = now
        elif event["event"] == "trial_finished":
            record = event["record"]
            if record["outcome"] != "measured":
                sys.exit(f"a trial failed: {record['outcome']}")
            besides.setdefault(record["id"]["cell"], []).append(now - begun - load)
if run.returncode not in (0, 1):
    sys.exit(f"{program[0]} ended with {run.returncode}")
judged = json.loads(subprocess.run(program + ["export", "latest", "--json"], stdout=subprocess.PIPE, check=True).stdout)
names = {cell["id"]: f"{cell['stack']}/{cell['workload']}" for cell in judged["cells"]}
for cell, seconds in besides.items():
    print(names.get(cell, cell), statistics.median(seconds))
