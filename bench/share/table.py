"""Reads what cost.sh measured and prints medians, and ratios by round with their quartiles, as Markdown."""

import re
import statistics
import sys

rounds, peaks = [], {}
for line in sys.stdin:
    if line.startswith("round"):
        rounds.append({})
    elif found := re.match(r"whole (.*): (\d+) us", line):
        rounds[-1][found[1]] = int(found[2]) / 1e6
    elif found := re.match(r"pack ([\d.]+) s", line):
        rounds[-1]["pack"] = float(found[1])
    elif found := re.match(r"(\w+) VmHWM: (\d+) kB", line):
        peaks[found[1]] = max(peaks.get(found[1], 0), int(found[2]))

times = {
    "push": lambda one: one["pack and push"] - one["pack"],
    "pull to files, digests checked": lambda one: one["pull to files"],
    "both": lambda one: times["push"](one) + one["pull to files"],
}
cranes = {
    "push": lambda one: one["crane push"],
    "pull to files, digests checked": lambda one: one["crane pull"],
    "both": lambda one: one["crane push"] + one["crane pull"],
}
print(f"{len(rounds)} rounds\n\n| | diskproof | crane | ratio |\n| --- | --- | --- | --- |")
for name, ours in times.items():
    theirs = cranes[name]
    low, middle, high = statistics.quantiles([ours(one) / theirs(one) for one in rounds], n=4)
    print(f"| {name} | {statistics.median(map(ours, rounds)):.3f} s | {statistics.median(map(theirs, rounds)):.3f} s |"
          f" {middle:.2f} ({low:.2f} to {high:.2f}) |")
print(f"| pull with storing the run | {statistics.median(one['pull and store'] for one in rounds):.3f} s | no pair | |")
for name, peak in peaks.items():
    print(f"| peak memory, {name} | {peak / 1024:.0f} MB | | |")
