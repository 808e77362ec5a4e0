#!/usr/bin/env python3
"""Asks `diskproof plan` about many job files, and this machine's fio about what diskproof would hand it.

Usage: plan.py LIST FILES [DISKPROOF]

LIST names the files (repository, commit, path; tab separated); they lie in FILES/OWNER+REPOSITORY/PATH. Prints a table: repository,
commit, path, outcome. A file runs if its plan is made, in a directory or else on a disk without a file system, and if fio then takes
the job as diskproof hands it over (`fio --parse-only`; it opens no file). Nothing is measured.
"""
import collections, json, os, re, subprocess, sys, tempfile

# What somebody who runs a file with variables would set.
VALUES = {
    "SIZE": "64m", "RUNTIME": "5", "BLK_SIZE": "4k", "FIO_BS": "4k", "RW": "randrw", "FIO_RW": "randread", "MIX": "70",
    "IODEPTH": "4", "FIO_IODEPTH": "4", "IOENGINE": "libaio", "IOTYPE": "randrw", "READPERCENT": "70", "WRITEPERCENT": "30",
    "NUMBJOBS": "1", "RANDOM": "5", "THREADS": "1", "MEMTOTAL_BYTES": "64m",
}


def sets(file):
    """The arguments that set the variables of a file."""
    text = open(file, errors="replace").read()
    options = "\n".join(re.split("[;#]", line)[0] for line in text.splitlines())
    # In a shell script also `$((NAME/2))`.
    used = lambda name: f"${{{name}}}" in options or re.search(rf"^\w+=\$\(\(\W*{name}\b", options, re.M)
    return [word for name in VALUES if used(name) for word in ("--set", f"{name}={VALUES[name]}")]


def plan(diskproof, file, on):
    """The plan as JSON, or None, and what diskproof says beside it."""
    argv = [diskproof, "plan", file, "--on", on, "--size", "1g", "--json", *sets(file)]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return (json.loads(done.stdout) if done.returncode == 0 else None, done.stderr)


def elsewhere(diskproof, file, here):
    """The plan of an experiment that runs the file on another machine, of whose room nobody knows."""
    experiment = os.path.join(here, "experiment.yaml")
    subprocess.run([diskproof, "new", experiment, "--from", file], capture_output=True)
    argv = [diskproof, "plan", experiment, "--set", "dir=" + here, "--json", *sets(file)]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    os.remove(experiment)
    return (json.loads(done.stdout) if done.returncode == 0 else None, done.stderr)


def problems(said):
    """The problems in a refusal, without their places."""
    found = re.findall(r"^\S[^\n]*?:\d+:\d+: (.*)$", said, re.M)
    return "; ".join(list(dict.fromkeys(found))[:3])


def fio_takes(job, here):
    """What fio says against a job; empty if it takes it."""
    path = os.path.join(here, "job.fio")
    with open(path, "w") as out:
        out.write(job.replace("/DIRECTORY", here))
    done = subprocess.run(["fio", "--parse-only", path], capture_output=True, text=True, cwd=here)
    return "" if done.returncode == 0 else "; ".join((done.stdout + done.stderr).split("\n")[:2]).strip("; ")


def outcome(diskproof, file, here):
    where, (planned, said) = "", plan(diskproof, file, here)
    if planned is None and "are free in" in said:
        where, (planned, said) = ", given the room that it asks for", elsewhere(diskproof, file, here)
    if planned is None and "on stack `directory`" in said:
        on_files, (planned, device_said) = said, plan(diskproof, file, "nvme-any-disk")
        where = ", on a stack without a file system"
        if planned is None:
            return "refused: " + problems(on_files) + " / " + problems(device_said)
    if planned is None:
        refused = problems(said)
        return f"refused: {refused}" if refused else "other: " + said.strip().split("\n")[0]
    engine = planned["plan"]["cells"][0]["workload"]["engine"]
    for job in planned["jobs_as_run"].values():
        if job.startswith("# a run refuses this"):
            return "refused: " + job.strip()[2:]
        against = fio_takes(job, here)
        if against:
            return "refused by this machine's fio: " + against
    return f"runs, by {engine}{where}"


def main():
    listed, files = sys.argv[1:3]
    diskproof = sys.argv[3] if len(sys.argv) > 3 else "diskproof"
    kinds = collections.Counter()
    print("repository\tcommit\tpath\toutcome")
    with tempfile.TemporaryDirectory(prefix="diskproof-bench-") as here:
        for row in open(listed):
            repository, commit, path = (row.rstrip("\n").split("\t") + ["", ""])[:3]
            if row.startswith(("#", "repository")):
                continue
            file = os.path.join(files, repository.replace("/", "+", 1), path)
            told = outcome(diskproof, file, here) if os.path.isfile(file) else "missing"
            kinds[re.split("[:,]", told)[0]] += 1
            print(f"{repository}\t{commit}\t{path}\t{told}", flush=True)
    print("# " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))


main()
