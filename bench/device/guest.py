"""A judged run of guest.yaml on standard input to a Markdown table: native : fio of each disk, pattern, block size and depth, paired by rounds."""

import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "native"))
sys.dont_write_bytecode = True

from bursts import interval  # noqa: E402

BAR = 0.99


def figures(cell):
    """IOPS by round."""
    return dict(zip(cell["rounds"], cell["metrics"]["iops"]["values"]))


cells = {(cell["stack"], cell["workload"]): cell for cell in json.load(sys.stdin)["cells"]}
print("| disk | rw | bs | depth | IOPS, native | IOPS, fio | native : fio | >= 0.99 |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for (disk, workload), cell in sorted(cells.items(), key=lambda item: item[0]):
    engine, _, asked = workload.partition("-")
    theirs = cells.get((disk, f"fio-{asked}"))
    if engine != "native" or theirs is None or "iops" not in cell["metrics"] or "iops" not in theirs["metrics"]:
        continue
    ours, fio = figures(cell), figures(theirs)
    pairs = [(ours[number], fio[number]) for number in sorted(ours.keys() & fio.keys())]
    ratio, low, high = interval(pairs)
    holds = "yes" if low >= BAR else "**no**" if high < BAR else "open"
    middle = [f"{statistics.median(side.values()):,.0f}" for side in (ours, fio)]
    print(f"| {disk} | {' | '.join(asked.split('-'))} | {' | '.join(middle)} | {ratio:.3f} ({low:.3f} to {high:.3f}) | {holds} |")
