"""Whether native and fio agree on throttled volumes, by `diskproof calibrate`: both in turn on the same emulated volume."""

import json
import os
import subprocess

METRICS = {"read_iops": ("IOPS", 0.01), "read_lat_p50": ("p50", 0.02), "read_lat_p99": ("p99", 0.02)}
ROUNDS, SECONDS = 5, 8


def measure(table, args):
    if os.geteuid() != 0:
        table.note("agreement on throttled volumes was not measured: it needs root")
        return
    for iops in (80, 5000):
        argv = [args.diskproof, "calibrate", "--iops", str(iops), "--workload", "randread", "--rounds", str(ROUNDS),
                "--seconds", str(SECONDS), "--json"]
        # The run is kept in a store of its own, which goes with the directory.
        own = {**os.environ, "XDG_DATA_HOME": args.directory}
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, env=own)
        # 0 and 1 are both answers: they agree, they don't.
        if ended.returncode not in (0, 1) or not ended.stdout.startswith("{"):
            last = ended.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            table.note(f"agreement at {iops} IOPS was not measured: diskproof calibrate ended with {ended.returncode}: {last[0]}")
            continue
        rows(table, iops, json.loads(ended.stdout))


def rows(table, iops, answer):
    lines = {line["metric"]: line for line in answer["lines"]}
    for metric, (name, bar) in METRICS.items():
        line = lines.get(metric)
        if line is None:
            table.note(f"calibrate at {iops} IOPS told no {metric}")
            continue
        ratio, low, high = (line[key] for key in ("ratio", "low", "high"))
        # calibrate's own judgement, which knows how coarse a percentile's bins are.
        standing, more = line["standing"], line.get("rounds_needed")
        reached = {"agree": True, "within": True, "beyond": False}.get(standing)
        aside = f", {standing}" + (f" (about {more} rounds would do)" if standing == "undecided" and more else "")
        what = f"a volume of {iops} IOPS, {ROUNDS} rounds of {SECONDS} s: {name}, native : fio ({low:.4f} to {high:.4f})"
        table.bar(what, f"{ratio:.4f}", f"within {bar:.0%}{aside}", reached)
    for told in answer.get("explanations", []):
        table.remark(f"{iops} IOPS: {told['text']}")
