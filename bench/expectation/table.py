"""The table of bench/expectation/run.sh, from a run's JSON on standard input."""

import json
import sys

run = json.load(sys.stdin)
cells = {cell["id"]: cell for cell in run["cells"]}
rows, worst = {}, 0.0
for expectation in run["expectations"]:
    cell = cells[expectation["cell"]]
    kind, width = cell["stack"].split("-")
    iops = cell["metrics"]["iops"]
    expected, (low, high) = expectation["expected"], (iops["low"], iops["high"])
    worst = max(worst, abs(low / expected - 1), abs(high / expected - 1))
    rows.setdefault(int(width), {"expected": expected})[kind] = (
        f"{iops['estimate']:.1f} ± {(high - low) / 2:.1f}, {expectation['status']}"
    )

print("| N | expected, IOPS | md | LVM |")
print("| --- | --- | --- | --- |")
for width, row in sorted(rows.items()):
    print(f"| {width} | {row['expected']:.0f} | {row['md']} | {row['lvm']} |")
print(f"\nThe end of an interval that is furthest off: {worst:.1%}")
met = all(expectation["status"] == "met" for expectation in run["expectations"])
sys.exit(0 if met and worst <= 0.05 else 1)
