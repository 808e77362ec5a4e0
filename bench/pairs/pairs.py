"""Runs the pairs and counts what is said of them: see run.sh."""

import concurrent.futures
import json
import os
import platform
import subprocess
import sys
import threading
import time

DIRECTORY, DISKPROOF = sys.argv[1:3]
PAIRS, PARALLEL, ROUNDS = map(int, sys.argv[3:6])
TRIAL = sys.argv[6]
SLOW, FAST = 400, 420


def experiment(pairs):
    """Some pairs, (name, IOPS of the first, of the second): one workload each, so that each is an answer of its own."""
    lines = ["experiment: pairs", "volumes:"]
    for name, *limits in pairs:
        for side, iops in zip("ab", limits):
            lines.append(f"  {name}{side}: {{ emulate: {{ size: 16m, iops: {iops} }} }}")
    lines.append("stacks:")
    lines += [f"  {name}{side}: {{ on: {name}{side} }}" for name, *_ in pairs for side in "ab"]
    lines.append("workloads:")
    # direct I/O on a bare device: there is no page cache to drop before a trial
    lines += [f"  {name}: {{ rw: randread, bs: 4k, iodepth: 16, size: 8m, direct: 1, cache: keep }}" for name, *_ in pairs]
    lines.append("only:")
    lines += [f"  - {{ workload: {name}, stack: [{name}a, {name}b] }}" for name, *_ in pairs]
    lines.append(f"measure: {{ trial: {TRIAL}, rounds: {ROUNDS} }}")
    return "\n".join(lines) + "\n"


def perform(number, pairs):
    """One run, if it isn't there yet; what it says of each pair."""
    home = os.path.join(DIRECTORY, str(number))
    env = {"PATH": os.environ["PATH"], "HOME": home, "DISKPROOF_STATE": os.path.join(home, "state")}
    call = lambda *args: subprocess.run([DISKPROOF, *args], cwd=home, env=env, capture_output=True, text=True)
    if not os.path.isdir(home):
        os.mkdir(home)
        with open(os.path.join(home, "e.yaml"), "w") as file:
            file.write(experiment(pairs))
        measure(home, env)
    view = json.loads(call("export", "latest", "--json").stdout)
    return [said(view, pair) for pair in pairs]


# The limits of one run's volumes are verified at a time, since that loads them all at once.
VERIFYING = threading.Lock()
TRIES = 5


def measure(home, env):
    """A run; again if the machine was too busy to reach the limits, so that nothing was measured."""
    for _ in range(TRIES):
        with VERIFYING:
            run = subprocess.Popen(
                [DISKPROOF, "run", "e.yaml", "--progress", "lines"],
                cwd=home, env=env, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            told = []
            for line in run.stderr:
                told.append(line)
                if line.startswith("volumes ready"):
                    break
        told += run.stderr.readlines()
        if run.wait() in (0, 1):
            return
    raise RuntimeError(f"{home}: ended with {run.returncode}: {''.join(told)}")


def said(view, pair):
    name, slow, fast = pair
    ids = {c["stack"]: c["id"] for c in view["cells"] if c["workload"] == name}
    answer = next(a for a in view["answers"] if a["workload"] == name)
    comparison = next(c for c in answer["comparisons"] if {c["a"], c["b"]} == set(ids.values()))
    ratio = dict(comparison["ratio"])
    if comparison["a"] == ids[name + "a"]:
        # always the second over the first
        ratio = {"ratio": 1 / ratio["ratio"], "low": 1 / ratio["high"], "high": 1 / ratio["low"]}
    cells = [c for c in view["cells"] if c["workload"] == name]
    seconds = sum(c["metrics"]["iops"]["n"] for c in cells) * view["measure"]["trial_seconds"]
    ramps = sum(c["metrics"]["iops"]["n"] for c in cells) * view["measure"]["ramp_seconds"]
    return {
        "truth": fast / slow,
        "relation": comparison["relation"],
        "excluded": comparison["excluded_difference"],
        "seconds": seconds + ramps,
        **{key: ratio[key] for key in ("ratio", "low", "high")},
    }


def verdict(pair):
    """Told apart the right way round, told apart wrongly, or not told apart."""
    if pair["relation"] != "apart":
        return "not told apart"
    return "right" if pair["truth"] > 1 and pair["ratio"] > 1 else "wrong"


def table(title, pairs):
    counts = {v: sum(verdict(p) == v for p in pairs) for v in ("right", "wrong", "not told apart")}
    covers = sum(p["low"] <= p["truth"] <= p["high"] for p in pairs)
    ratios = sorted(p["ratio"] for p in pairs)
    widths = sorted((p["high"] / p["low"] - 1) / 2 for p in pairs)
    excluded = sorted(p["excluded"] for p in pairs if p["excluded"] is not None)
    middle = lambda values: values[len(values) // 2]
    print(
        f"| {title} | {len(pairs)} | {counts['right']} | {counts['wrong']} | {counts['not told apart']} | {covers} | "
        f"{ratios[0]:.4f} to {ratios[-1]:.4f} | ±{100 * middle(widths):.2f} % | "
        + (f"{100 * middle(excluded):.2f} %" if excluded else "-")
        + f" | {sum(p['seconds'] for p in pairs) / 60:.0f} min |"
    )


def main():
    pairs = [(f"same{i}-", SLOW, SLOW) for i in range(PAIRS)] + [(f"apart{i}-", SLOW, FAST) for i in range(PAIRS)]
    # one of each kind in every run, so that what happens to one happens to the other
    runs = [pairs[i::PAIRS] for i in range(PAIRS)]
    begun, load = time.time(), []
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        under_way = [pool.submit(perform, i, run) for i, run in enumerate(runs)]
        while not all(f.done() for f in under_way):
            load.append(os.getloadavg()[0])
            time.sleep(5)
    said_of = [p for f in under_way for p in f.result()]
    version = subprocess.run([DISKPROOF, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{version}; Linux {platform.release()}, {os.cpu_count()} cores; load of 1 min {min(load):.1f} to {max(load):.1f}; "
          f"{PARALLEL} runs at a time, {ROUNDS} rounds of {TRIAL}; {(time.time() - begun) / 60:.0f} min on the clock.\n")
    print("| pairs | n | told apart, right | told apart, wrong | not told apart | intervals that cover the truth | estimates | half-width (median) | difference excluded above (median) | device time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    table(f"A/A: {SLOW} and {SLOW} IOPS", [p for p in said_of if p["truth"] == 1])
    table(f"A/B: {SLOW} and {FAST} IOPS", [p for p in said_of if p["truth"] > 1])


main()
