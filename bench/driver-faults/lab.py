"""Makes faults in the driver lab, one after the other: lab.py WORK IMAGES FAULTS SEED TABLE. It needs a mount namespace of its own, in which it
puts a wrapper in the place of QEMU and ssh. It fails if anything of the claim is left, or if a neighbour has changed."""

import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

WORK, IMAGES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
FAULTS, SEED, TABLE = int(sys.argv[3]), int(sys.argv[4]), pathlib.Path(sys.argv[5])
STATE, FAULT, REAL = WORK / "s", WORK / "fault", WORK / "usr/bin"
GUESTS, NOTES = STATE / "lab/guests", STATE / "lab-claims"
CLAIM = "0123456789abcdef0123456789abcdef"
# The same up to its last digit; and one whose guests have the same names.
OTHER, TWIN = CLAIM[:-1] + "e", CLAIM[:8] + "f" * 24
GUEST = f"{CLAIM[:8]}-big"
PROGRAMS = ["qemu-system-x86_64", "ssh"]
WAYS = {
    "moment": "`kill -9` of the driver at any moment",
    "before": "`kill -9` of the driver before QEMU or ssh acts; it acts afterwards",
    "after": "`kill -9` of the driver after QEMU or ssh acted",
    "fail": "QEMU or ssh fails and does nothing",
    "unheard": "QEMU or ssh acts, and its answer is lost",
    "dies": "QEMU is killed at any moment",
    "stopped": "QEMU doesn't answer any more",
}
# Counts the calls; at one of them it does what `kind` says. Whoever removes `kill` has killed the driver.
WRAPPER = f"""#!/bin/sh
d={FAULT}
real={REAL}/${{0##*/}}
# Without the version, the guest would not be restored from its saved state but boot anew, which takes minutes.
[ "$1" = --version ] && exec "$real" "$@"
n=$(flock $d/lock sh -c 'n=$(($(cat $0/count) + 1)); echo $n >$0/count; echo $n' $d)
dead() {{ echo $$ >$d/kill.new; mv $d/kill.new $d/kill; i=0; while [ -e $d/kill ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i + 1)); done; }}
if [ "$n" = "$(cat $d/at)" ]; then
    case $(cat $d/kind) in
        fail) echo "injected failure" >&2; exit 1 ;;
        unheard) "$real" "$@" >/dev/null 2>&1; echo "injected: the answer is lost" >&2; exit 1 ;;
        before) dead ;;
        after) "$real" "$@"; s=$?; dead; exit $s ;;
    esac
fi
exec "$real" "$@"
"""


def install():
    """Puts the wrapper in the place of the programs, for this process and its children only."""
    # A folder that was used before keeps only the saved states.
    for old in (WORK / "usr", FAULT, GUESTS, STATE / "lab/stays", NOTES):
        shutil.rmtree(old, ignore_errors=True)
    REAL.mkdir(parents=True)
    FAULT.mkdir()
    # QEMU looks for its firmware beside its own folder.
    for folder in ("share", "lib"):
        (WORK / "usr" / folder).symlink_to(f"/usr/{folder}")
    (FAULT / "wrapper").write_text(WRAPPER)
    (FAULT / "wrapper").chmod(0o755)
    arrange("none", 0)
    for program in PROGRAMS:
        shutil.copy(f"/usr/bin/{program}", REAL / program)
        subprocess.run(["mount", "--bind", FAULT / "wrapper", f"/usr/bin/{program}"], check=True)
    (STATE / "lab").mkdir(parents=True, exist_ok=True)
    (STATE / "lab/base").unlink(missing_ok=True)
    (STATE / "lab/base").symlink_to(IMAGES / "base")
    STATE.chmod(0o700)


def arrange(kind, at):
    for name, text in (("kind", kind), ("at", str(at)), ("count", "0")):
        (FAULT / name).write_text(text)


def calls():
    return int((FAULT / "count").read_text() or 0)


def machine(name):
    volumes = [{"name": "gp", "size_bytes": 8 << 20, "settings": {"iops": 80}}]
    return {"name": name, "settings": {"zfs": False, "cpus": 1}, "volumes": volumes}


def task(what, claim=CLAIM, name="big"):
    request = {"protocol": "1.0", "do": what, "claim": {"id": claim, "run": "faults", "deadline": 4_000_000_000}}
    if what == "create":
        return request | {"machines": [machine(name)], "ssh_public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIfaults"}
    return request | {"settings": {}}


def started(request):
    """The driver with a request; its events go to a file, since QEMU and ssh outlive it."""
    asked = WORK / "request"
    asked.write_text(json.dumps(request))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(WORK), "DISKPROOF_STATE": str(STATE)}
    with open(asked) as given, open(WORK / "events", "w") as told, open(WORK / "errors", "w") as errors:
        return subprocess.Popen([WORK / "diskproof", "driver", "lab"], stdin=given, stdout=told, stderr=errors, env=environment)


def ended():
    """The result of the last request; `None`: there is none."""
    lines = (WORK / "events").read_text().splitlines()
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except ValueError:
            pass  # half a line of a driver that was killed
    return events[-1] if events and events[-1]["event"] == "result" else None


def undisturbed(request):
    arrange("none", 0)
    driver = started(request)
    driver.wait(900)
    result = ended()
    assert result, f"{request}: no result; {(WORK / 'errors').read_text()}"
    return result


def processes():
    """What runs and has a path of this series among its arguments: its id, its beginning and its arguments."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            argv = (folder / "cmdline").read_bytes().split(b"\0")
            if any(str(STATE).encode() in word for word in argv):
                begin = (folder / "stat").read_text().rpartition(")")[2].split()[19]
                found[f"process {folder.name}"] = f"{begin} {b' '.join(argv).decode(errors='replace')}"
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def qemus():
    mark = str(GUESTS / GUEST / "qemu.pid")
    words = ((name.split()[1], text.split()) for name, text in processes().items())
    return [int(pid) for pid, argv in words if mark in argv and os.path.basename(argv[1]).startswith("qemu-system")]


def picture():
    """All that guests and claims may leave, and all that a neighbour has. The guest that runs writes to its own console and root disk."""
    found = processes()
    for path in [*(STATE / "lab").rglob("*"), *NOTES.rglob("*")]:
        name = str(path.relative_to(STATE))
        try:
            if path.is_dir() or path.is_socket():
                found[name] = "is there"
            elif path.name in ("console", "root.qcow2", "state.zst"):
                found[name] = f"inode {path.stat().st_ino}"
            else:
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        except FileNotFoundError:
            pass
    return found


def neighbours():
    """What a careless driver would take for its own: a guest of another claim that runs; a QEMU with a file like ours; folders, files and
    notes with names like ours; and a process that only mentions our guest's file."""
    made = undisturbed(task("create", OTHER, "big-1"))
    assert "done" in made, made
    for name in (f"{GUEST}x", GUEST[:-1], CLAIM):
        folder = GUESTS / name
        folder.mkdir(parents=True)
        for file in ("disk-gp.img", "qemu.pid.txt"):
            (folder / file).write_text("a neighbour's")
    for name, claim in ((f"{GUEST}x", OTHER), (GUEST[:-1], TWIN), (f"{CLAIM}-big", OTHER)):
        note = {"claim": task("status", claim)["claim"], "machine": "big", "guest": name, "made": 1}
        (NOTES / f"{name}.json").write_text(json.dumps(note))
    for name in (f"{GUEST}.json.bak", f"{GUEST}.txt", f"x{GUEST}"):
        (NOTES / name).write_text("a neighbour's")
    pid = GUESTS / f"{GUEST}x" / "qemu.pid"
    like = [REAL / "qemu-system-x86_64", "-machine", "none", "-nodefaults", "-display", "none", "-S", "-daemonize", "-pidfile", pid]
    subprocess.run(like, check=True)
    # Its shared connection would end by itself some time later.
    while any(end_all("ssh")):
        time.sleep(0.1)
    mention = ["tail", "-f", "/dev/null", f"--pid={os.getpid()}", "-s", "5", GUESTS / GUEST / "qemu.pid"]
    return subprocess.Popen(mention, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def twin_is_refused():
    """A claim whose guest has the name of a neighbour's guest."""
    name = GUESTS / GUEST
    note = NOTES / f"{GUEST}.json"
    name.mkdir()
    (name / "disk-gp.img").write_text("a neighbour's")
    note.write_text(json.dumps({"claim": task("status", TWIN)["claim"], "machine": "big", "guest": GUEST, "made": 1}))
    for has_note in (True, False):
        if not has_note:
            note.unlink()
        before = picture()
        made = undisturbed(task("create"))
        assert "is not of this claim" in made.get("failed", {}).get("text", ""), made
        assert undisturbed(task("destroy"))["done"]["destroyed"] == {"removed": [], "left": []}
        assert not is_as(before), is_as(before)
    shutil.rmtree(name)


def end_all(begin, how=signal.SIGTERM):
    """Sends a signal to the programs of this series whose names begin like this."""
    for name, text in processes().items():
        if os.path.basename(text.split()[1]).startswith(begin):
            try:
                os.kill(int(name.split()[1]), how)
                yield name
            except ProcessLookupError:
                pass


def is_as(before):
    """Waits until all is as it was: an ssh whose guest is gone ends by itself. Returns what still differs."""
    until = time.monotonic() + 60
    while (after := picture()) != before and time.monotonic() < until:
        time.sleep(0.2)
    return difference(before, after)


def difference(before, after):
    lines = [f"- {key}: {text}" for key, text in before.items() if after.get(key) != text]
    return "\n".join(lines + [f"+ {key}: {text}" for key, text in after.items() if before.get(key) != text])


def kill(driver):
    driver.kill()
    driver.wait()


def released():
    """Lets a program act whose driver is dead, and waits until it does."""
    pid = (FAULT / "kill").read_text().strip()
    (FAULT / "kill").unlink()
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if not os.readlink(f"/proc/{pid}/exe").endswith("sh"):
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.001)


def disturbed(request, kind, at, moment):
    """Performs a request with a fault; returns how the driver ended."""
    arrange(kind if kind in ("fail", "unheard", "before", "after") else "none", at)
    if kind == "stopped":
        for pid in qemus():
            os.kill(pid, signal.SIGSTOP)
    driver = started(request)
    begun = time.monotonic()
    has_died = False
    while True:
        if driver.poll() is not None:
            hit = kind in ("fail", "unheard") and calls() >= at or has_died or kind == "stopped"
            return "done with a fault" if hit and driver.returncode == 0 else "failed" if hit else "unhurt"
        if (FAULT / "kill").exists():
            kill(driver)
            released()
            return "killed"
        if kind == "moment" and time.monotonic() - begun >= moment:
            kill(driver)
            return "killed"
        if kind == "dies" and not has_died and time.monotonic() - begun >= moment:
            for pid in qemus():
                has_died = True
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        assert time.monotonic() - begun < 900, "the driver hangs"
        time.sleep(0.002)


def half_made(numbers, has_connection):
    """A guest whose create was killed: while QEMU starts, is restored, or is up already; or after ssh made its shared connection."""
    arrange("none", 0)
    driver = started(task("create"))
    while driver.poll() is None and not ((GUESTS / GUEST / "ssh").exists() if has_connection else qemus()):
        time.sleep(0.03)
    time.sleep(numbers.random() * (0.5 if has_connection else 4))
    kill(driver)


def one(number, numbers):
    kind = list(WAYS)[number % len(WAYS)]
    in_destroy = numbers.random() < 0.5 if kind not in ("stopped", "dies") else kind == "stopped"
    # To destroy a guest takes one call of ssh, and a fraction of a second.
    at = 1 if in_destroy else 1 + numbers.randrange(6)
    moment = numbers.random() * (0.2 if in_destroy else 5)
    if in_destroy:
        half_made(numbers, kind in ("before", "after", "fail", "unheard"))
    how = disturbed(task("destroy" if in_destroy else "create"), kind, at, moment)
    # Some interrupted creates are repeated, as a person would.
    if not in_destroy and number % 10 == 0:
        again = undisturbed(task("create"))
        assert "done" in again, f"fault {number}: a create is repeated: {again}"
    last = undisturbed(task("destroy"))
    assert last.get("done", {}).get("destroyed", {}).get("left") == [], f"fault {number}: {last}"
    removed = last["done"]["destroyed"]["removed"]
    print(f"fault {number}: {kind} in {'destroy' if in_destroy else 'create'}, call {at}, {moment:.2f} s: {how};"
          f" then removed {[resource['name'] for resource in removed]}", flush=True)
    return kind, "destroy" if in_destroy else "create", how, bool(removed)


def table(seen):
    qemu = subprocess.run([REAL / "qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout.split()[3]
    lines = [
        "# Faults in the driver lab\n",
        f"`bench/driver-faults/lab.sh {FAULTS} {SEED}` with QEMU {qemu}. After each fault, `destroy` ran once without a fault.",
        "Each time it left no process, no file and no note of the claim. The neighbours were the same, byte for byte: a guest",
        "of another claim that runs, a QEMU that never booted, and folders, files and notes with names like ours. Where the",
        "guest's name belongs to somebody else's guest, `create` refuses, and `destroy` leaves that guest alone.\n",
        "| fault | in | tried | hit | something was left for `destroy` | left after `destroy` |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, words in WAYS.items():
        for where in ("create", "destroy"):
            rows = [(how, left) for of, at, how, left in seen if (of, at) == (kind, where)]
            if rows:
                hit = sum(how != "unhurt" for how, _ in rows)
                lines.append(f"| {words} | {where} | {len(rows)} | {hit} | {sum(left for _, left in rows)} | 0 |")
    hit = sum(how != "unhurt" for _, _, how, _ in seen)
    lines.append(f"\nAll: {len(seen)} tried, {hit} hit. A fault that didn't hit came after the driver had ended. After every")
    lines.append("tenth fault, an interrupted `create` was repeated without a fault, and took the guest over.")
    return "\n".join(lines) + "\n"


def main():
    install()
    mention = None
    numbers = random.Random(SEED)
    try:
        mention = neighbours()
        twin_is_refused()
        before = picture()
        seen = []
        for number in range(FAULTS):
            seen.append(one(number, numbers))
            changed = is_as(before)
            assert not changed, f"fault {number}, {seen[-1]}:\n{changed}"
        ways = collections.Counter(how for _, _, how, _ in seen)
        assert FAULTS - ways["unhurt"] > FAULTS // 2, f"most faults hit: {ways}"
        TABLE.write_text(table(seen))
        print(f"{FAULTS} faults, seed {SEED}: {dict(ways)}; 0 left, 0 neighbours changed")
    finally:
        if mention:
            mention.kill()
            mention.wait()
        for begin in ("qemu-system", "ssh"):
            list(end_all(begin, signal.SIGKILL))


main()
