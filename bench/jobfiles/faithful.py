#!/usr/bin/env python3
"""fio by hand against diskproof's run of the same job, on many real job files.

Usage: faithful.py LIST FILES PLACE [DISKPROOF] [ROUNDS] [MOST]

LIST names the files (repository, commit, path; tab separated), which lie in FILES/OWNER+REPOSITORY/PATH. PLACE is a directory on
the storage to measure. Each job file is first made small: times of at most 3 s, sizes of at most 64 MiB, files in PLACE. Then fio
runs it by hand and diskproof runs it (`run --on`, engine fio), in turn, ROUNDS times. Written as a table to standard output: reads
and writes per second, bytes per I/O, share of reads, I/Os in flight (rate times mean completion latency: Little's law) and syncs per I/O, each
as the ratio diskproof : fio with its 95 % interval over the pairs. A file agrees if every interval lies within 10 % of 1 or the
figures are the same, differs if one interval excludes 1 and reaches beyond 10 %, and is open else: measure more rounds, on a machine with nothing else to do.
The order of the files is shuffled with a fixed seed, so that the first MOST are from many repositories. Needs fio and zstd.
"""
import json, math, os, random, re, shutil, sqlite3, subprocess, sys, tempfile

SECONDS, SIZE = 3, 64 << 20
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}
LOGS = re.compile(r"^(write_\w+_log|log_\w+|per_job_logs|verify_dump|verify_state_save|gtod_reduce|disable_\w+|unlink|create_on_open"
                  r"|allow_file_create|write_iolog|group_reporting|thread|percentile_list)\b")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def small(text, place):
    """The job file with short times, small files, and every file in one directory."""
    out, sized = [], re.search(r"^\s*(size|filesize)\s*=", text, re.M)
    for line in text.splitlines():
        line = re.split("[;#]", line)[0].strip()
        name, _, value = (part.strip() for part in line.partition("="))
        if LOGS.match(name) or name in ("directory", "runtime", "timeout", "ramp_time", "startdelay", "time_based"):
            continue
        if name == "filename":
            value = ":".join(place + "/" + re.sub(r"\W", "_", part) for part in value.split(":") if part)
            if not value:
                continue
            line = f"filename={value}"
        if name == "filename_format":
            line = f"filename_format={value.replace('/', '_')}"
        if name in ("size", "filesize", "offset", "io_size"):
            found = re.fullmatch(r"(\d+)([kmgt]?)b?", value.lower())
            if not found:
                return None
            size = int(found[1]) * UNITS[found[2]]
            line = f"{name}={min(size, SIZE) if name != 'offset' else 0}"
        out.append(line)
        if line.startswith("[global"):
            out += [f"directory={place}", f"runtime={SECONDS}", "time_based=1", "randrepeat=0"]
            out += [] if sized else [f"size={SIZE}"]
    return "\n".join(out) + "\n" if any(line.startswith("[global") for line in out) else None


def figures(jobs):
    """Rates over the longest job of each group, groups one after the other, and the means of an I/O."""
    groups, flying = {}, 0
    for job in jobs:
        for side in ("read", "write"):
            group = groups.setdefault(job["groupid"], {"ms": 0, "read": [0, 0], "write": [0, 0], "sync": 0})
            flying += job[side]["total_ios"] * job[side]["clat_ns"]["mean"] / 1e9
            group["ms"] = max(group["ms"], job[side]["runtime"])
            group[side][0] += job[side]["total_ios"]
            group[side][1] += job[side]["io_bytes"]
        groups[job["groupid"]]["sync"] += job.get("sync", {}).get("lat_ns", {}).get("N", 0)
    seconds = sum(group["ms"] for group in groups.values()) / 1000
    ios = {side: sum(group[side][0] for group in groups.values()) for side in ("read", "write")}
    size = {side: sum(group[side][1] for group in groups.values()) for side in ("read", "write")}
    total = sum(ios.values())
    return {
        "read": ios["read"] / seconds, "write": ios["write"] / seconds,
        "bytes": sum(size.values()) / total if total else 0, "reads": ios["read"] / total if total else 0,
        "syncs": sum(group["sync"] for group in groups.values()) / total if total else 0,
        "flying": flying / seconds,
    }


def write_all(job, place):
    """fio makes the files, then each is written, as diskproof does before each trial: fio only reserves room for a job that writes, and
    reads of that need no device."""
    subprocess.run(["fio", "--create_only=1", job], cwd=place, check=True, capture_output=True, timeout=300)
    for folder, _, names in os.walk(place):
        for path in (os.path.join(folder, name) for name in names if not name.endswith((".fio", ".db", ".yaml"))):
            with open(path, "r+b") as file:
                for _ in range(0, os.path.getsize(path), 1 << 20):
                    file.write(os.urandom(min(1 << 20, os.path.getsize(path) - file.tell())))
                os.fsync(file.fileno())


def by_hand(job, place):
    write_all(job, place)
    said = subprocess.run(["fio", "--output-format=json", "--eta=never", job], cwd=place, capture_output=True, text=True, timeout=300)
    return figures(json.loads(said.stdout[said.stdout.index("{"):])["jobs"])


def by_diskproof(diskproof, job, place):
    """diskproof's run of the job: its own figures, and the syncs of fio's report, which the record keeps."""
    env = dict(os.environ, DISKPROOF_STORE=place + "/store.db")
    experiment = place + "/experiment.yaml"
    subprocess.run([diskproof, "new", experiment, "--from", job], check=True, capture_output=True)
    text = open(experiment).read().replace("rounds: 3", "rounds: 1").replace("{ fio:", "{ engine: fio, fio:")
    open(experiment, "w").write(text)
    subprocess.run([diskproof, "run", experiment, "--set", "dir=" + place, "--quiet"], check=True, env=env, capture_output=True)
    os.remove(experiment)
    view = json.loads(subprocess.run([diskproof, "export", "latest", "--json"], env=env, check=True, capture_output=True).stdout)
    metrics = view["cells"][0]["metrics"]
    of = lambda name: metrics.get(name, {}).get("estimate", 0)
    total = of("iops")
    with sqlite3.connect(place + "/store.db") as store:
        packed = store.execute("select raw from trial_body order by trial desc limit 1").fetchone()[0]
    raw = subprocess.run(["zstd", "-dc"], input=packed, check=True, capture_output=True).stdout.decode()
    report = figures(json.loads(raw[raw.index("{"):])["jobs"])
    return {"read": of("read_iops"), "write": of("write_iops"), "bytes": of("bw") / total if total else 0,
            "reads": of("read_iops") / total if total else 0, "syncs": report["syncs"],
            "flying": sum(of(side + "_iops") * of(side + "_lat_mean") / 1e6 for side in ("read", "write"))}


def agrees(pairs):
    """The paired ratio with its interval (log scale), and what it says."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs if ours > 0 and theirs > 0]
    if len(logs) < 2:
        return ("-", "differs" if any(pair[0] or pair[1] for pair in pairs) else "agrees")
    mean = sum(logs) / len(logs)
    half = T95[len(logs)] * math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    word = "agrees" if 0.9 < low and high < 1.1 else "open" if low <= 1 <= high else "differs"
    return (f"{math.exp(mean):.3f} ({low:.3f} to {high:.3f})", word)


def main():
    listed, files, where = (os.path.abspath(path) for path in sys.argv[1:4])
    diskproof = sys.argv[4] if len(sys.argv) > 4 else "diskproof"
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 4
    most = int(sys.argv[6]) if len(sys.argv) > 6 else 60
    done, words = 0, {"agrees": 0, "open": 0, "differs": 0}
    heads = {"read": "reads per second", "write": "writes per second", "bytes": "bytes per I/O", "reads": "share of reads",
             "flying": "I/Os in flight", "syncs": "syncs per I/O"}
    print("\t".join(["repository", "path", *heads.values(), "they"]), flush=True)
    rows = open(listed).readlines()
    random.Random(1).shuffle(rows)
    for row in rows:
        repository, _, path = (row.rstrip("\n").split("\t") + ["", ""])[:3]
        source = os.path.join(files, repository.replace("/", "+", 1), path)
        if row.startswith("#") or not os.path.isfile(source) or done >= most:
            continue
        place = tempfile.mkdtemp(prefix="diskproof-bench-", dir=where)
        try:
            text = small(open(source, errors="replace").read(), place)
            if text is None or "trim" in text or "zbd" in text or "${" in text:
                continue
            job = place + "/job.fio"
            open(job, "w").write(text)
            pairs = []
            for turn in range(rounds):
                turns = [lambda: by_diskproof(diskproof, job, place), lambda: by_hand(job, place)]
                first, second = turns if turn % 2 else turns[::-1]
                one, two = first(), second()
                pairs.append((one, two) if turn % 2 else (two, one))
            told = [agrees([(ours[key], theirs[key]) for ours, theirs in pairs]) for key in heads]
            worst = max((word for _, word in told), key=list(words).index)
            done, words[worst] = done + 1, words[worst] + 1
            print("\t".join([repository, path, *(text for text, _ in told), worst]), flush=True)
        except Exception as error:  # A file that neither side runs is told, not counted.
            reason = getattr(error, "stderr", None) or error
            print(f"{repository}\t{path}\t\t\t\t\tnot run: {str(reason)[-160:]!r}", flush=True)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    print(f"# of {done} files: " + ", ".join(f"{count} {word}" for word, count in words.items()), flush=True)


main()
