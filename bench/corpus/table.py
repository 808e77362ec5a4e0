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
    rate, seconds, cpu = (cell["metrics"][name]["values"] for name in ["files_per_second", "seconds", "engine_cpu"])
    cpu_seconds = statistics.mean(cores * s for cores, s in zip(cpu, seconds))
    rates.setdefault((cell["stack"], writers), {})[copier] = (rate, seconds, cpu_seconds)

programs = [copier for copier in next(iter(rates.values())) if copier != "native"]


def shown(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


print("Files per second, medians of the rounds, and the copier's own CPU seconds:\n")
print("| | native | " + " | ".join(programs) + " | bare calls | native / best program: median (least to most) | the same, with reading |")
print("| --- |" + " --- |" * (len(programs) + 4))
for (fs, writers), row in sorted(rates.items()):
    native, seconds, _ = row["native"]
    best = max(programs, key=lambda copier: statistics.median(row[copier][0]))
    ratios = [ours / theirs for ours, theirs in zip(native, row[best][0])]
    read = statistics.median(reading[fs, writers])
    slower = [ratio * s / (s + read) for ratio, s in zip(ratios, seconds)]
    each = " | ".join(f"{statistics.median(row[c][0]):.0f}, {row[c][2]:.2f} s" for c in ["native", *programs])
    print(f"| {fs}, {writers} | {each} | {statistics.median(floor[fs, writers]):.0f} | {shown(ratios)} of {best} | {shown(slower)} |")

print("\nFiles per second of two writers over those of one, medians (least to most of the rounds):\n")
print("| | native | " + " | ".join(programs) + " | bare calls |")
print("| --- |" + " --- |" * (len(programs) + 2))
for fs in sorted({fs for fs, _ in rates}):
    one, two = rates[fs, "1"], rates[fs, "2"]
    pairs = [(two[c][0], one[c][0]) for c in ["native", *programs]] + [(floor[fs, "2"], floor[fs, "1"])]
    print(f"| {fs} | " + " | ".join(shown([b / a for b, a in zip(both, single)]) for both, single in pairs) + " |")
