"""Checks that every cell of the sweep has its trials, and prints I/Os per second by machine and width."""

import json
import sys

cells = json.load(sys.stdin)["cells"]
missing = [cell["id"] for cell in cells if cell["trials"]["done"] < 2]
print("| machine | stack | workload | IOPS |\n| --- | --- | --- | --- |")
for cell in cells:
    iops = cell["metrics"].get("iops", {}).get("estimate")
    if iops is not None:
        print(f"| {cell['target']} | {cell['stack']} | {cell['workload']} | {iops:.0f} |")
print(f"{len(cells)} cells, {len(missing)} without two trials")
sys.exit(bool(missing) or not cells)
