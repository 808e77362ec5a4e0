"""Measures every bar of the native engine beside fio, interleaved, and writes them as Markdown. Called by run.sh."""

import argparse
import json
import os
import shutil
import statistics
import sys
import time

import agreement
from loads import BATCHED, CPU, FIO, PIN, TUNED, Native, callgrind, fio_argv, fio_rates, fio_startup_ms, run, t_io_uring_rates
from table import Table, header

ZRAM_SIZE = 256 << 20


def interleaved(rounds, loads):
    """Each load once per round, beginning with another one in each; their rates by name."""
    found = {name: [] for name, _ in loads}
    for turn in range(rounds):
        at = turn % len(loads)
        for name, load in loads[at:] + loads[:at]:
            found[name].append(load())
    return found


def ratios(found, name, which):
    return [ours[which] / theirs[which] for ours, theirs in zip(found["native"], found[name])]


def rate_rows(table, place, found, bars):
    for name, rates in found.items():
        iops, per_cpu = (statistics.median(rate[i] for rate in rates) for i in (0, 1))
        table.rate(place, name, iops, per_cpu, *([] if name == "native" else [ratios(found, name, i) for i in (0, 1)]))
        if name in bars:
            middle = statistics.median(ratios(found, name, 0))
            table.bar(f"IOPS of one core, {place}: native : {name}", f"{middle:.2f}", f">= {bars[name]:.2f}", middle >= bars[name])


def hole(table, native, args, file):
    loads = [("native", lambda: native.rates(args.directory, args.seconds))]
    loads += [(name, lambda extra=extra: fio_rates(file, args.seconds, extra)) for name, extra in FIO.items()]
    if args.t_io_uring:
        loads.append(("fio's t/io_uring, no latencies", lambda: t_io_uring_rates(args.t_io_uring, file, args.seconds)))
    else:
        table.note(f"fio's t/io_uring was not measured: {args.t_io_uring_missing}")
    bars = {"fio, its defaults": 1.35, "fio, tuned": 1.10}
    rate_rows(table, "a hole in a file", interleaved(args.rounds, loads), bars)


def zram(table, native, args):
    if not args.zram:
        table.note(f"zram was not measured: {args.zram_missing}")
        return
    file = os.path.join(args.zram, "fio-data")
    with open(file, "wb") as made:
        for _ in range(ZRAM_SIZE >> 20):
            made.write(os.urandom(1 << 20))
        os.fsync(made.fileno())
    loads = [("native", lambda: native.rates(args.zram, args.seconds, f"size={ZRAM_SIZE}", layout="written"))]
    for name, extra in [("fio, its defaults", []), ("fio, tuned", TUNED)]:
        loads.append((name, lambda extra=extra: fio_rates(file, args.seconds, extra, ZRAM_SIZE)))
    bars = {"fio, its defaults": 1.35, "fio, tuned": 1.10}
    rate_rows(table, "zram", interleaved(max(3, args.rounds // 2), loads), bars)


def instructions(table, native, args, file):
    if shutil.which("valgrind") is None:
        table.note("instructions per I/O were not counted: valgrind isn't here")
        return

    def ours(seconds, prefix):
        return native.report(args.directory, seconds, prefix=prefix)

    def theirs(extra):
        def load(seconds, prefix):
            return run([*prefix, *fio_argv(file, seconds, [*extra, "--thread"])])
        return load

    counted = callgrind(args.directory, ours, lambda report: report["read"]["ios"])
    for name, extra in FIO.items():
        beside = callgrind(args.directory, theirs(extra), lambda text: json.loads(text)["jobs"][0]["read"]["total_ios"])
        ratio = counted / beside
        bar = ("<= 0.6", ratio <= 0.6) if extra != BATCHED else ("", None)
        table.bar(f"instructions per I/O in user space: native {counted:.0f}, {name} {beside:.0f}", f"{ratio:.2f}", *bar)


def start_and_memory(table, native, args, file):
    starts = [native.report(args.directory, 0.05)["startup_ns"] / 1e6 for _ in range(11)]
    middle = statistics.median(starts)
    beside = fio_startup_ms(file)
    what = f"start to first I/O (median of 11, {min(starts):.1f} to {max(starts):.1f} ms; a whole fio run of one I/O: {beside:.0f} ms)"
    table.bar(what, f"{middle:.1f} ms", "<= 20 ms", middle <= 20)
    cost = native.report(args.directory, 1, "numjobs=16", "iodepth=32", f"size={64 << 20}")["cost"]
    own = (cost["peak_memory_bytes"] - cost["buffer_bytes"]) / 1e6
    table.bar("memory beside the I/O buffers, 16 jobs of depth 32", f"{own:.1f} MB", "<= 32 MB", own <= 32)


def generator(table, args):
    program = os.path.join(args.programs, "examples", "generator_bench")
    if not os.path.exists(program):
        table.note("the data generator was not measured: its bench program isn't built")
        return
    found = [json.loads(run([*PIN, program])) for _ in range(5)]
    for key, bar in [("incompressible", 8), ("compressible", 2), ("verify_stamp", None), ("verify_check", None)]:
        rates = [one.get(f"{key}_bytes_per_second") for one in found]
        if None in rates:
            continue
        middle = statistics.median(rates) / 1e9
        what = f"data, one core: {key.replace('_', ' ')} ({min(rates) / 1e9:.1f} to {max(rates) / 1e9:.1f} in 5 runs)"
        table.bar(what, f"{middle:.1f} GB/s", f">= {bar} GB/s" if bar else "", middle >= bar if bar else None)


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("programs", "directory", "results", "command"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("zram", "zram-missing", "t-io-uring", "t-io-uring-missing", "diskproof", "agreement-missing"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=2.5)
    return parser.parse_args()


def step(table, name, measure):
    """What fails is told in the results; the rest is measured all the same."""
    print(f"bench: {name}", file=sys.stderr, flush=True)
    try:
        measure()
    except (Exception, SystemExit) as error:  # whatever it is: no figure may vanish because another one failed
        table.note(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:500]}")


def main():
    args = arguments()
    begun, load = time.time(), os.getloadavg()
    native, table = Native(args.programs), Table()
    first = native.report(args.directory, 0.1)
    file = os.path.join(args.directory, "fio-hole")
    with open(file, "wb") as made:
        made.truncate(1 << 30)
    step(table, "4k reads of a hole", lambda: hole(table, native, args, file))
    step(table, "start and memory", lambda: start_and_memory(table, native, args, file))
    step(table, "zram", lambda: zram(table, native, args))
    step(table, "the data generator", lambda: generator(table, args))
    step(table, "instructions per I/O", lambda: instructions(table, native, args, file))
    step(table, "agreement on throttled volumes", lambda: agreement.measure(table, args))
    about = header(args, first, begun, load, CPU)
    with open(args.results, "w", encoding="utf-8") as out:
        out.write(about + table.markdown())
    print(about + table.markdown())


main()
