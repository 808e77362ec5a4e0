"""Pairs of seconds, `NAME OURS THEIRS` a line, to a Markdown table. Arguments: what ours and theirs are called."""

import math
import statistics
import sys

pairs = {}
for line in sys.stdin:
    name, ours, theirs = line.split()
    pairs.setdefault(name, []).append((float(ours), float(theirs)))
print(f"| stack | {sys.argv[1]} (s) | {sys.argv[2]} (s) | ratio, median (quartiles) | geometric mean (95 % interval) |")
print("| --- | --- | --- | --- | --- |")
for name, all in pairs.items():
    ours, theirs = (statistics.median(column) for column in zip(*all))
    low, middle, high = statistics.quantiles([o / t for o, t in all], n=4)
    logs = [math.log(o / t) for o, t in all]
    # the normal distribution's 97.5 % point: a table has 20 pairs or more
    mean, half = statistics.mean(logs), 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    print(
        f"| {name} | {ours:.3f} | {theirs:.3f} | {middle:.2f} ({low:.2f} to {high:.2f})"
        f" | {math.exp(mean):.3f} ({math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}) |"
    )
