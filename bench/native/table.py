"""The tables of results as Markdown."""

import os
import statistics
import time

from loads import DEPTH, run


def header(args, first, begun, load_before, cpu):
    """What the figures were taken with: machine, command, date, load."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), "?")
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begun))
    after = os.getloadavg()
    lines = [
        "# The native engine beside fio",
        "",
        f"Written by `{args.command}`; run it again on your machine. Every ratio is taken within a round, in which all took",
        "their turn, and is the median over the rounds, with its lowest and highest.",
        "",
        f"* {date}, {(time.time() - begun) / 60:.1f} minutes; load average before {load_before[0]:.2f}, after {after[0]:.2f} (our own load included)",
        f"* {os.cpu_count()} CPUs ({model}), Linux {os.uname().release}; all loads on CPU {cpu} alone",
        f"* {run(['fio', '--version']).strip()}; native by {first['issued_by']}, clock {first['clock']}",
        f"* {args.rounds} rounds of {args.seconds:g} s, 4k random direct reads, depth {DEPTH}, full latency histograms in native and in fio's defaults",
        "",
        "",
    ]
    return "\n".join(lines)


def spread(found, digits=2):
    return f"{statistics.median(found):.{digits}f} ({min(found):.{digits}f} to {max(found):.{digits}f})"


class Table:
    """Rates, bars, remarks, and what is missing, in the order they come."""

    def __init__(self):
        self.rates, self.bars, self.remarks, self.notes = [], [], [], []

    def rate(self, place, name, iops, per_cpu, by_iops=None, by_cpu=None):
        beside = [spread(found) if found else "" for found in (by_iops, by_cpu)]
        self.rates.append([place, name, f"{iops:,.0f}", f"{per_cpu:,.0f}", *beside])

    def bar(self, what, found, bar, reached):
        """`reached` is None where there is no bar, or where the figure doesn't decide it (then `bar` says so)."""
        self.bars.append([what, found, bar, {True: "yes", False: "**no**", None: ""}[reached]])

    def remark(self, text):
        self.remarks.append(text)

    def note(self, text):
        self.notes.append(text)

    def markdown(self):
        lines = ["## Rates", ""]
        lines += rows(["read from", "by", "IOPS", "I/Os per CPU second", "native : it, IOPS", "native : it, by CPU time"], self.rates)
        lines += ["", "## Bars", ""] + rows(["what", "found", "bar", "reached"], self.bars)
        if self.remarks:
            lines += ["", "What calibrate says of differences:", ""] + [f"* {remark}" for remark in self.remarks]
        if self.notes:
            lines += ["", "## Not measured, and why", ""] + [f"* {note}" for note in self.notes]
        return "\n".join(lines) + "\n"


def rows(head, body):
    lines = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(line) + " |" for line in lines]
