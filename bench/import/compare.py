"""1000 JSON files of fio: `diskproof import` beside the loader of fio-plot, in turns. Arguments: a scratch folder, the
program, and if wanted an earlier build of it."""

import json
import os
import statistics
import subprocess
import sys
import time

FILES, TURNS = 1000, 11
DEPTHS, JOBS, REPEATS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], 10

# What bench-fio's users call: find the files, read them, make rows of them.
LOADER = """
import sys, time
begin = time.perf_counter()
from fio_plot.fiolib import jsonimport, jsonparsing
settings = {"input_directory": [sys.argv[1]], "rw": "randread", "iodepth": %r, "numjobs": %r, "filter": ["read"]}
loaded = time.perf_counter()
dataset = jsonimport.import_json_dataset(settings, jsonimport.list_json_files(settings))
rows = jsonparsing.parse_json_data(settings, dataset)[0]["data"]
print(len(rows), time.perf_counter() - loaded)
""" % (DEPTHS, JOBS)


def template(scratch):
    """One document of this machine's fio."""
    command = ["fio", "--output-format=json", "--name=iotest", f"--directory={scratch}", "--size=4m", "--rw=randread", "--bs=4k"]
    command += ["--ioengine=psync", "--iodepth=1", "--numjobs=1", "--group_reporting", "--runtime=1"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(text[text.index("{"):])


def make(scratch):
    folder = os.path.join(scratch, "results")
    os.mkdir(folder)
    document = template(scratch)
    job = document["jobs"][0]
    for depth in DEPTHS:
        for jobs in JOBS:
            for repeat in range(REPEATS):
                job["job options"] = {**job["job options"], "iodepth": str(depth), "numjobs": str(jobs), "rw": "randread"}
                job["read"]["iops"] = 100.0 * depth * jobs + repeat
                document["timestamp"] += 1
                with open(os.path.join(folder, f"randread-{depth}-{jobs}-{repeat}.json"), "w") as file:
                    json.dump(document, file, indent=2)
    return folder


def timed(command, **more):
    begin = time.perf_counter()
    out = subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout
    return time.perf_counter() - begin, out


def imported(program, folder, scratch, name):
    """The seconds of an import into a new store."""
    store = {**os.environ, "DISKPROOF_STORE": os.path.join(scratch, f"{name}.db"), "HOME": scratch}
    seconds, out = timed([program, "import", folder], env=store)
    assert f"{FILES} trials of {len(DEPTHS) * len(JOBS)} cells" in out, out
    return seconds


def ratio(what, a, b):
    ratios = sorted(one / other for one, other in zip(a, b))
    print(f"{what:<42} {statistics.median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def main():
    scratch, program = sys.argv[1], os.path.abspath(sys.argv[2])
    earlier = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
    folder = make(scratch)
    assert len(os.listdir(folder)) == FILES
    theirs, inside, ours, before = [], [], [], []
    for turn in range(TURNS):
        seconds, out = timed([sys.executable, "-c", LOADER, folder])
        rows, loading = out.split()
        assert int(rows) == FILES, out
        theirs.append(seconds)
        inside.append(float(loading))
        ours.append(imported(program, folder, scratch, turn))
        if earlier:
            before.append(imported(earlier, folder, scratch, f"before-{turn}"))
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / FILES / 1000
    median = statistics.median
    print(f"{FILES} files of {size:.1f} kB, {TURNS} turns, medians")
    print(f"{'fio-plot, whole process':<42} {median(theirs):.3f} s")
    print(f"{'fio-plot, loading alone':<42} {median(inside):.3f} s")
    print(f"{'diskproof import, whole process, stored':<42} {median(ours):.3f} s")
    if earlier:
        print(f"{'the same, earlier build':<42} {median(before):.3f} s")
        ratio("earlier build / this one", before, ours)
    ratio("fio-plot, whole process / diskproof", theirs, ours)
    ratio("fio-plot, loading alone / diskproof", inside, ours)


main()
