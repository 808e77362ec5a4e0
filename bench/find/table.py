"""The table of bench/find/run.sh, from a run's JSON on standard input."""

import json
import math
import sys

CAPACITY = 200.0  # reads per second of the volume
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


run = json.load(sys.stdin)
worst = 0.0
print("| limit of p99 | by arithmetic, IOPS | found, IOPS | estimate / arithmetic | trials | seconds under load |")
print("| --- | --- | --- | --- | --- | --- |")
for search in run["searches"]:
    limit = search["limits"][0]
    truth = CAPACITY * load_of(limit["at_most"] / 1e6 * CAPACITY, 0.99)
    value = search["value"]
    if value is None:
        print(f"| {limit['written']} | {truth:.1f} | {search['text']} | | {len(search['tried'])} | |")
        worst = math.inf
        continue
    ratio = value["estimate"] / truth
    worst = max(worst, abs(ratio - 1))
    seconds = len(search["tried"]) * (run["measure"]["trial_seconds"] + run["measure"]["ramp_seconds"])
    print(
        f"| {limit['written']} | {truth:.1f} | {value['estimate']:.1f} ({value['low']:.1f} to {value['high']:.1f}) "
        f"| {ratio:.3f} | {len(search['tried'])} | {seconds:.0f} |"
    )
print(f"\nThe estimate that is furthest off: {worst:.1%}")
sys.exit(0 if worst <= TOLERANCE else 1)
