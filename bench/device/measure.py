"""Drives one device by the native engine and by fio's defaults in turn, and writes their paired ratios as Markdown. Called by run.sh."""

import argparse
import fcntl
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "native"))
sys.dont_write_bytecode = True

from bursts import interval, retried, run  # noqa: E402
from table import rows  # noqa: E402

RAMP = 0.3
MIB = 1 << 20
# What a file system takes for itself, at most; btrfs writes beside what it replaces, and frees that later.
ROOM = {"xfs": 512 * MIB, "ext4": 512 * MIB, "btrfs": 2048 * MIB, "loop": 0}
GROUNDS = ("file", "xfs", "btrfs", "ext4", "loop")
BAR = 0.99


class Ground:
    """Data that both generators use: a file here, a file in a file system on a loop device, or the loop device. It goes when the block ends."""

    def __init__(self, kind, parent, size):
        self.kind, self.parent, self.size, self.undo = kind, parent, size, []
        self.device, self.block = None, False

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        here = tempfile.mkdtemp(prefix="diskproof-bench-device.", dir=self.parent)
        self.undo.append(["rm", "-rf", here])
        if self.kind == "file":
            self.written(os.path.join(here, "diskproof-data.0"), self.size)
            self.name = f"a file, {run(['stat', '-f', '-c', '%T', here]).strip()}"
            return
        image = os.path.join(here, "image")
        self.written(image, self.size + ROOM[self.kind])
        loop = run(["losetup", "--find", "--show", "--direct-io=on", image]).strip()
        self.undo.append(["losetup", "-d", loop])
        if self.kind == "loop":
            self.path, self.block, self.name = loop, True, "a loop device"
            return
        mount = os.path.join(here, "mount")
        os.mkdir(mount)
        options = {"ext4": ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"], "xfs": ["-q", "-f", "-K"], "btrfs": ["-q", "-f", "-K"]}
        run([f"mkfs.{self.kind}", *options[self.kind], loop])
        run(["mount", loop, mount])
        self.undo.append(["umount", mount])
        self.written(os.path.join(mount, "diskproof-data.0"), self.size)
        self.name = f"a file, {self.kind} on a loop device"

    def written(self, path, size):
        """Every block has content on the device: no generator reads a hole."""
        run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={size // MIB}", "oflag=direct", "conv=fsync"])
        self.path = path

    def __exit__(self, *_):
        for argv in reversed(self.undo):
            retried(argv)


def disk_of(path):
    """The whole disk that holds a path, as /proc/diskstats names it; None where it can't be told."""
    number = os.stat(path).st_dev
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(link):
        return None
    real = os.path.realpath(link)
    return os.path.basename(os.path.dirname(real) if os.path.exists(f"{real}/partition") else real)


def counters(disk):
    """I/Os completed and ms spent by all of them on the disk."""
    fields = next(line.split() for line in open("/proc/diskstats", encoding="ascii") if line.split()[2] == disk)
    return int(fields[3]) + int(fields[7]), int(fields[13])


def native(worker, ground, cell, seconds, scratch):
    rw, size, depth = cell
    job = {"name": "job", "places": [{"number": 0, "path": ground.path, "offset_bytes": 0, "size_bytes": ground.size, "block_device": ground.block}],
           "rw": rw, "rwmixread": 50, "sizes": {"one": size}, "iodepth": depth, "direct": True, "fsync": 0, "fdatasync": 0,
           "end_fsync": False, "sync": "none", "pause": None, "once": False, "buffer_compress_percentage": 0, "dedupe_percentage": 0,
           "rate": None, "random_distribution": "random", "norandommap": False, "issue": "io_uring",
           "continue_on_error": {"read": False, "write": False, "verify": False}, "hipri": False, "sqthread_poll": False}
    task = {"jobs": [job], "invalidate": True, "seed": random.randrange(1 << 30), "proof": 0, "ramp_ns": int(RAMP * 1e9),
            "trial_ns": int(seconds * 1e9), "asked_ns": time.monotonic_ns()}
    path = os.path.join(scratch, "task.json")
    with open(path, "w", encoding="ascii") as out:
        json.dump(task, out)
    report = json.loads(run([worker, path]))
    if report["errors"] or report["departures"]:
        raise SystemExit(f"native: {report['errors']} {report['departures']}")
    took = (report["end_ns"] - report["start_ns"]) / 1e9
    cost = report["cost"]
    ios = report["read"]["ios"] + report["write"]["ios"]
    return ios / took, (cost["user_seconds"] + cost["system_seconds"]) / ios * 1e6


def fio(extra, ground, cell, seconds):
    rw, size, depth = cell
    job = json.loads(run(["fio", "--name=job", f"--filename={ground.path}", f"--size={ground.size}", f"--rw={rw}", f"--bs={size}", "--direct=1",
                          "--ioengine=io_uring", f"--iodepth={depth}", "--time_based", f"--runtime={int(seconds * 1000)}ms",
                          f"--ramp_time={int(RAMP * 1000)}ms", f"--randseed={random.randrange(1 << 30)}", "--output-format=json", *extra]))["jobs"][0]
    iops = job["read"]["iops"] + job["write"]["iops"]
    return iops, (job["usr_cpu"] + job["sys_cpu"]) / 100 / iops * 1e6


def measured(load, disk):
    """IOPS, CPU time per I/O in us, and how many I/Os were in flight on the disk beneath, on the average of the whole run."""
    before, begun = counters(disk) if disk else None, time.monotonic()
    iops, cpu = load()
    if not disk:
        return iops, cpu, None
    (_, ms), (_, since) = counters(disk), before
    return iops, cpu, (ms - since) / 1e3 / (time.monotonic() - begun)


def generators(args, ground, cell, scratch):
    found = {"native": lambda: native(args.worker, ground, cell, args.seconds, scratch)}
    if args.before:
        found["before"] = lambda: native(args.before, ground, cell, args.seconds, scratch)
    found["fio"] = lambda: fio(args.fio, ground, cell, args.seconds)
    return found


def rounds_of(args, ground, cells, scratch):
    """Each round has every cell once by every generator, cells and generators in random order; figures by cell, a dict for each round."""
    disk = disk_of(ground.parent)
    found = {cell: [] for cell in cells}
    for turn in range(args.rounds):
        print(f"bench: {ground.name}: round {turn + 1} of {args.rounds}", file=sys.stderr, flush=True)
        for cell in random.sample(cells, len(cells)):
            loads = generators(args, ground, cell, scratch)
            found[cell].append({name: measured(loads[name], disk) for name in random.sample(list(loads), len(loads))})
    return found


def line(ground, cell, rounds, names):
    rw, size, depth = cell
    middle = lambda name, at: statistics.median(each[name][at] for each in rounds)  # noqa: E731
    queue = lambda name: "?" if rounds[0][name][2] is None else f"{middle(name, 2):.1f}"  # noqa: E731
    words, holds = [], None
    for ours, theirs in [("native", "fio"), *([("before", "fio"), ("native", "before")] if "before" in names else [])]:
        ratio, low, high = interval([(each[ours][0], each[theirs][0]) for each in rounds])
        words.append(f"{ratio:.3f} ({low:.3f} to {high:.3f})")
        if holds is None:
            holds = "yes" if low >= BAR else "**no**" if high < BAR else "open"
    return [ground.name, rw, f"{size // 1024}k", str(depth), *[f"{middle(name, 0):,.0f}" for name in names], *words, holds,
            " : ".join(f"{middle(name, 1):.1f}" for name in names), " : ".join(queue(name) for name in names)]


def listed(text):
    return [word for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/device/run.sh", description=__doc__)
    parser.add_argument("--worker", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    parser.add_argument("--command", default="", help=argparse.SUPPRESS)
    parser.add_argument("--directory", default="/var/tmp", help="where files are made: on the disk to be measured")
    parser.add_argument("--grounds", type=listed, default=["file", "xfs", "btrfs", "loop"], help=f"of {', '.join(GROUNDS)}")
    parser.add_argument("--rw", type=listed, default=["randread", "randwrite", "randrw"])
    parser.add_argument("--bs", type=listed, default=["4k", "16k", "128k"])
    parser.add_argument("--depth", type=listed, default=["1", "4", "32", "128"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--size", type=int, default=1024, help="MiB of data")
    parser.add_argument("--before", help="another diskproof-native-worker, measured beside")
    parser.add_argument("--fio", type=lambda text: text.split(), default=[], help="more options for fio, for comparisons")
    args = parser.parse_args()
    if odd := set(args.grounds) - set(GROUNDS):
        parser.error(f"--grounds: {', '.join(sorted(odd))}: not one of {', '.join(GROUNDS)}")
    return args


def about(args, begun, load):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), "?")
    return "\n".join([
        "# The native engine and fio's defaults on the same device", "",
        "In each round both drive the same data, in random order, so each ratio is taken within a round. The interval is a 95 %",
        f"one (Student's t on the logarithms of the ratios). The bar is {BAR}: *yes* where the whole interval is above it, *no*",
        "where the whole interval is below, else *open*. Run it again on your machine:", "",
        "```", args.command, "```", "",
        f"* {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(begun))}, {(time.time() - begun) / 60:.1f} minutes; load average before {load[0]:.2f}, "
        f"after {os.getloadavg()[0]:.2f} (our own load included)",
        f"* {os.cpu_count()} CPUs ({model}), Linux {os.uname().release}, disk {disk_of(args.directory) or '?'}",
        f"* {run(['fio', '--version']).strip()}, ioengine=io_uring{''.join(' ' + word for word in args.fio)}; native by io_uring",
        f"* {args.rounds} rounds of {args.seconds:g} s after {RAMP:g} s, {args.size} MiB of data, direct=1", "", ""])


def main():
    args = arguments()
    # Ended like this, what was made is undone, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # As the tests do: whoever else measures on this machine waits.
    lock = open(os.path.join(tempfile.gettempdir(), "diskproof-exclusive.lock"), "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    begun, load = time.time(), os.getloadavg()
    sizes = [int(text.removesuffix("k")) * 1024 for text in args.bs]
    cells = list(itertools.product(args.rw, sizes, [int(depth) for depth in args.depth]))
    names = ["native", *(["before"] if args.before else []), "fio"]
    body, notes = [], []
    with tempfile.TemporaryDirectory(prefix="diskproof-bench-device.") as scratch:
        for kind in args.grounds:
            try:
                with Ground(kind, args.directory, args.size * MIB) as ground:
                    body += [line(ground, cell, rounds, names) for cell, rounds in rounds_of(args, ground, cells, scratch).items()]
            except (OSError, SystemExit, subprocess.SubprocessError) as error:
                notes.append(f"* {kind}: {' '.join(str(error).split())[:500]}")
    pairs = ["native : fio", *(["before : fio", "native : before"] if args.before else [])]
    head = ["data", "rw", "bs", "depth", *[f"IOPS, {name}" for name in names], *pairs, f">= {BAR}",
            f"CPU us per I/O, {' : '.join(names)}", f"in flight on the disk, {' : '.join(names)}"]
    text = about(args, begun, load) + "\n".join(rows(head, body)) + "\n"
    if notes:
        text += "\n".join(["", "Not measured, and why:", "", *notes, ""])
    if args.results:
        with open(args.results, "w", encoding="utf-8") as out:
            out.write(text)
    print(text)


main()
