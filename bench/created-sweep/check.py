"""check.py ROUNDS: checks that every cell of the sweep has as many trials, and prints I/Os per second by machine and width."""

import json
import sys

rounds = int(sys.argv[1])
cells = json.load(sys.stdin)["cells"]
missing = [cell["id"] for cell in cells if cell["trials"]["done"] < rounds]
print("| machine | stack | workload | IOPS |\n| --- | --- | --- | --- |")
for cell in cells:
    iops = cell["metrics"].get("iops", {}).get("estimate")
    if iops is not None:
        print(f"| {cell['target']} | {cell['stack']} | {cell['workload']} | {iops:.0f} |")
print(f"{len(cells)} cells, {len(missing)} with fewer than {rounds} trials")
sys.exit(bool(missing) or not cells)
