"""The table of bench/corpus/run.sh.

  table.py RUN.json FLOOR     an exported run; lines of file system, writers, files per second and seconds of reading the source
"""

import json
import statistics
import sys

run = json.load(open(sys.argv[1]))
floor, reading = {}, {}
for line in open(sys.argv[2]):
    fs, writers, rate, seconds = line.split()
    floor.setdefault((fs, writers), []).append(float(rate))
    reading.setdefault((fs, writers), []).append(float(seconds))
rates = {}
for cell in run["cells"]:
    copier, writers = cell["workload"].rsplit("-", 1)
    rate, seconds, cores = (cell["metrics"][name]["values"] for name in ["files_per_second", "seconds", "engine_cpu"])
    cpu_seconds = statistics.mean(s * c for s, c in zip(seconds, cores))
    rates.setdefault((cell["stack"], writers), {})[copier] = (rate, seconds, cpu_seconds)

programs = [copier for copier in next(iter(rates.values())) if copier != "native"]
print("Files per second, and the copier's own CPU seconds:\n")
print("| | native | " + " | ".join(programs) + " | bare calls | native / best program (least to most of the rounds) | the same, with reading |")
print("| --- |" + " --- |" * (len(programs) + 4))


def shown(ratios):
    return f"{statistics.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


for (fs, writers), row in sorted(rates.items()):
    native, seconds, _ = row["native"]
    best = max(programs, key=lambda copier: statistics.mean(row[copier][0]))
    ratios = [ours / theirs for ours, theirs in zip(native, row[best][0])]
    read = statistics.median(reading[fs, writers])
    slower = [ratio * s / (s + read) for ratio, s in zip(ratios, seconds)]
    means = " | ".join(f"{statistics.mean(row[c][0]):.0f}, {row[c][2]:.2f} s" for c in ["native", *programs])
    print(f"| {fs}, {writers} | {means} | {statistics.mean(floor[fs, writers]):.0f} | {shown(ratios)} of {best} | {shown(slower)} |")
