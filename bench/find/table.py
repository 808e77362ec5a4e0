"""The table of bench/find/run.sh, from a run's JSON on standard input."""

import json
import math
import random
import sys

CAPACITY = 200.0  # reads per second of the volume
SLICE = 0.1  # seconds in which the kernel's throttle counts
TOLERANCE = 0.05


def in_system(load, most):
    """The probabilities that at most so many requests are in an M/D/1 queue, by level crossing of the chain at departures."""
    arrivals = [math.exp(-load)]
    for k in range(1, most + 1):
        arrivals.append(arrivals[-1] * load / k)
    more = [0.0] * (most + 2)
    for k in range(most, -1, -1):
        more[k] = more[k + 1] + (arrivals[k + 1] if k < most else 0.0)
    states = [1 - load]
    for j in range(most):
        crossing = sum(states[i] * more[j - i + 1] for i in range(1, j + 1))
        states.append((states[0] * more[j] + crossing) / arrivals[0])
    sums, total = [], 0.0
    for state in states:
        total += state
        sums.append(total)
    return sums


def latency(load, q):
    """The latency that a share q doesn't exceed, in service times (Franx 2001)."""
    sums = in_system(load, 60 + int(8 / (1 - load)))

    def waits_at_most(x):
        whole = int(x) + 1
        rest = load * (whole - x)
        term, total = math.exp(-rest), 0.0
        for j in range(whole):
            total += sums[whole - j] * term
            term *= rest / (j + 1)
        return total

    low, high = 0.0, len(sums) - 3.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if waits_at_most(middle) < q else (low, middle)
    return 1 + high


def load_of(limit, q):
    low, high = 0.01, 0.99
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if latency(middle, q) < limit else (low, middle)
    return low


def sliced(rate, arrivals=200_000):
    """The p99 in seconds before a throttle that lets a fixed number of reads pass in each slice of 0.1 s, simulated."""
    draw, now, slot, used, waits = random.Random(5), 0.0, 0, 0, []
    for _ in range(arrivals):
        now += draw.expovariate(rate)
        if int(now / SLICE) > slot:
            slot, used = int(now / SLICE), 0
        if used >= CAPACITY * SLICE:
            slot, used = slot + 1, 0
        used += 1
        waits.append(max(0.0, slot * SLICE - now))
    return sorted(waits)[int(0.99 * arrivals)]


def rate_of(limit):
    low, high = 0.5 * CAPACITY, 0.995 * CAPACITY
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if sliced(middle) < limit else (low, middle)
    return low


run = json.load(sys.stdin)
worst = 0.0
print("| limit of p99 | M/D/1, IOPS | with the throttle's slices, IOPS | found, IOPS | found / M/D/1 | found / slices | trials | seconds under load |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for search in run["searches"]:
    limit = search["limits"][0]
    truth = CAPACITY * load_of(limit["at_most"] / 1e6 * CAPACITY, 0.99)
    slices = rate_of(limit["at_most"] / 1e6)
    value = search["value"]
    if value is None:
        print(f"| {limit['written']} | {truth:.1f} | {slices:.1f} | {search['text']} | | | {len(search['tried'])} | |")
        worst = math.inf
        continue
    ratios = [value["estimate"] / of for of in (truth, slices)]
    worst = max(worst, abs(ratios[1] - 1))
    seconds = len(search["tried"]) * (run["measure"]["trial_seconds"] + run["measure"]["ramp_seconds"])
    print(
        f"| {limit['written']} | {truth:.1f} | {slices:.1f} "
        f"| {value['estimate']:.1f} ({value['low']:.1f} to {value['high']:.1f}) "
        f"| {ratios[0]:.3f} | {ratios[1]:.3f} | {len(search['tried'])} | {seconds:.0f} |"
    )
print(f"\nThe estimate that is furthest off the throttle's arithmetic: {worst:.1%}")
sys.exit(0 if worst <= TOLERANCE else 1)
