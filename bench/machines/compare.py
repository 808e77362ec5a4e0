"""Compares `diskproof machines status` with bare ssh, clush and Ansible; see run.sh."""

import json
import os
import platform
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import textwrap
import time

MACHINES = 100
ROUNDS = int(os.environ.get("ROUNDS", "5"))
ANSIBLE_ROUNDS = int(os.environ.get("ANSIBLE_ROUNDS", "1"))
# Seconds that one step may take at most.
PATIENCE = 300
LOST = "10.213.78.2"
# What the table of `status` shows, but for guests and disks; this asks for less than diskproof does.
QUESTION = "cat /proc/loadavg /proc/meminfo /proc/partitions /sys/devices/system/cpu/online"

work, binary = sys.argv[1], os.path.abspath(sys.argv[2])


def run(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, **more)


STARTED = time.monotonic()


def progress(text):
    print(f"{time.monotonic() - STARTED:6.1f} s  {text}", file=sys.stderr, flush=True)


def path(name):
    return os.path.join(work, name)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)


def start_sshd():
    for key in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # An empty home: what is measured is a login, not the login scripts of this machine's root.
    os.makedirs(path("home"), exist_ok=True)
    write("sshd_config", f"Port {port}\nListenAddress 0.0.0.0\nHostKey {path('host')}\nPidFile none\nStrictModes no\n"
          f"UsePAM no\nPermitRootLogin yes\nAuthorizedKeysFile {path('user')}.pub\nMaxStartups 1000\n"
          f"SetEnv HOME={path('home')}\nSubsystem sftp internal-sftp\n")
    with open(path("host.pub"), encoding="utf-8") as key:
        write("known", "* " + key.read())
    names = [f"m{number:03}" for number in range(1, MACHINES + 1)]
    hosts = "".join(f"Host {name}\n HostName 127.0.1.{number}\n" for number, name in enumerate(names, 1))
    write("ssh_config", f"{hosts}Host lost\n HostName {LOST}\nHost *\n Port {port}\n User root\n IdentityFile {path('user')}\n"
          f" IdentitiesOnly yes\n UserKnownHostsFile {path('known')}\n StrictHostKeyChecking yes\n")
    write("machines.yaml", 'machines: { "m[001:100]": {} }\n')
    write("with-lost.yaml", 'machines: { lost: {}, "m[001:100]": {} }\n')
    write("hosts", "m[001:100]\n")
    os.makedirs("/run/sshd", exist_ok=True)
    with open(path("sshd.log"), "w", encoding="utf-8") as log:
        sshd = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", path("sshd_config")], stderr=log)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return sshd
        time.sleep(0.05)
    raise SystemExit("sshd doesn't listen")


def processor_seconds(pid):
    """Of a process and of its children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def own_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost_of_a_login(sshd):
    """Processor seconds of `ssh m001 true`, on both sides."""
    repeats = 20
    before = processor_seconds(sshd.pid) + own_children()
    began = time.monotonic()
    for _ in range(repeats):
        run("ssh", "-F", path("ssh_config"), "m001", "true")
    took = time.monotonic() - began
    time.sleep(0.5)
    return (processor_seconds(sshd.pid) + own_children() - before) / repeats, took / repeats


def timed(words, **more):
    began = time.monotonic()
    done = run(*words, **more)
    return time.monotonic() - began, done.stdout.decode()


def status(inventory="machines.yaml"):
    took, said = timed([binary, "--ssh-config", path("ssh_config"), "machines", "status", "--json", "--machines", path(inventory)])
    answers = [json.loads(line) for line in said.splitlines()]
    return took, answers


def check(answers, expected):
    on = [answer for answer in answers if answer["state"] == "on" and answer["facts"]["memory_bytes"]]
    if len(on) != expected:
        raise SystemExit(f"{len(on)} of {expected} answered: {answers[:3]}")


def clush():
    return timed(["clush", "-q", "-O", f"ssh_options=-F {path('ssh_config')}", "-w", "m[001-100]", QUESTION])[0]


def ansible():
    settings = dict(os.environ, ANSIBLE_SSH_ARGS=f"-F {path('ssh_config')}", ANSIBLE_HOST_KEY_CHECKING="True",
                    ANSIBLE_PYTHON_INTERPRETER="/usr/bin/python3", ANSIBLE_LOCAL_TEMP=path("ansible"))
    return timed(["ansible", "all", "-i", path("hosts"), "-m", "setup", "-f", "50"], env=settings)[0]


def with_a_lost_one():
    """Total time, when the last of the others was told, and the lost one's state."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.02)
        for step in (f"ip link add dpbench0 type veth peer name dpbench1 netns {holder.pid}",
                     f"nsenter --net --target {holder.pid} ip link set dpbench1 up",
                     "ip address add 10.213.78.1/30 dev dpbench0", "ip link set dpbench0 up",
                     f"ip neighbour add {LOST} lladdr 02:00:00:00:00:02 dev dpbench0"):
            run(*step.split())
        words = [binary, "--ssh-config", path("ssh_config"), "machines", "status", "--json", "--machines",
                 path("with-lost.yaml")]
        began = time.monotonic()
        asked = subprocess.Popen(words, stdout=subprocess.PIPE)
        told = [(time.monotonic() - began, json.loads(line)) for line in asked.stdout]
        asked.wait()
        check([answer for _, answer in told], MACHINES)
        others = max(at for at, answer in told if answer["machine"] != "lost")
        lost = [(at, answer) for at, answer in told if answer["machine"] == "lost"][0]
        return others, lost[0], lost[1]["state"]
    finally:
        subprocess.run(["ip", "link", "delete", "dpbench0"], check=False, stderr=subprocess.DEVNULL)
        holder.kill()
        holder.wait()


def streaming():
    """Peak memory of `machines run` in MB while 100 machines print 20,000 lines each, and the lines."""
    words = [binary, "--ssh-config", path("ssh_config"), "machines", "run", "--fanout", "100", "--machines", path("machines.yaml"), "*",
             "--", "seq", "20000"]
    with open(path("lines"), "w+", encoding="utf-8") as lines:
        asked = subprocess.Popen(words, stdout=lines)
        _, code, used = os.wait4(asked.pid, 0)
        lines.seek(0)
        count = sum(1 for _ in lines)
    if code or count != MACHINES * 20_000:
        raise SystemExit(f"{count} lines arrived, status {code}")
    return used.ru_maxrss / 1000


def shown(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    sshd = start_sshd()
    try:
        compare(sshd)
    finally:
        sshd.kill()
        sshd.wait()


def compare(sshd):
    cores = len(os.sched_getaffinity(0))
    status(), clush() if shutil.which("clush") else None
    floors, ours, theirs, lost = [], [], [], []
    for number in range(1, ROUNDS + 1):
        work_seconds, _ = cost_of_a_login(sshd)
        floors.append(MACHINES * work_seconds / cores)
        progress(f"round {number} of {ROUNDS}: floor {floors[-1]:.2f}")
        took, answers = status()
        check(answers, MACHINES)
        ours.append(took)
        progress(f"round {number} of {ROUNDS}: status {took:.2f}")
        if shutil.which("clush"):
            theirs.append(clush())
            progress(f"round {number} of {ROUNDS}: clush {theirs[-1]:.2f}")
        lost.append(with_a_lost_one())
        progress(f"round {number} of {ROUNDS}: with a lost one {lost[-1][0]:.2f}")
    memory = streaming()
    progress(f"memory {memory:.0f} MB")
    slowest = []
    for number in range(1, ANSIBLE_ROUNDS + 1 if shutil.which("ansible") else 1):
        slowest.append(ansible())
        progress(f"ansible {number} of {ANSIBLE_ROUNDS}: {slowest[-1]:.2f}")
    ratio = [one / floor for one, floor in zip(ours, floors)]
    rows = [("100 x the CPU time of `ssh m true` on both sides, divided by the CPUs (the floor)", shown(floors), ""),
            ("`diskproof machines status`", shown(ours), f"{shown(ratio)} of the floor; bar: at most 1.5")]
    if theirs:
        faster = [their / one for their, one in zip(theirs, ours)]
        rows.append(("`clush` with a smaller question", shown(theirs), f"{shown(faster)} times ours; bar: at least 1.5"))
    if slowest:
        faster = [their / statistics.median(ours) for their in slowest]
        rows.append(("`ansible all -m setup -f 50`", shown(slowest), f"{shown(faster)} times ours; bar: at least 10"))
    rows.append(("with a 101st machine that drops all packets: until the last of the 100 is shown", shown([one[0] for one in lost]), ""))
    rows.append(("... until the 101st is shown as off", shown([one[1] for one in lost]),
                 "it has 3 s to answer" if all(one[2] == "off" for one in lost) else "WRONG STATE"))
    report(cores, rows, memory)


def wrapped(text):
    """A paragraph of a document, and the empty line after it."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n\n"


def report(cores, rows, memory):
    version = run(binary, "--version").stdout.decode().split("\n")[0]
    text = ("# 100 machines at once\n\n"
            + wrapped("Written by `bench/machines/run.sh`. Seconds, median (least to most) of "
                      f"{ROUNDS} rounds ({ANSIBLE_ROUNDS} of Ansible's); ratios are within a round. All 100 machines are this one: "
                      "one sshd on 127.0.1.1 to 127.0.1.100, so both sides of every connection share its CPUs.")
            + wrapped(f"{version}; Linux {platform.release()}, {cores} CPUs, {run('ssh', '-V').stderr.decode().strip()}.") +
            "| what | seconds | beside it |\n| --- | --- | --- |\n")
    text += "".join(f"| {what} | {seconds} | {beside} |\n" for what, seconds, beside in rows)
    text += "\n" + wrapped(f"`diskproof machines run` takes {memory:.0f} MB at most while 100 machines print 20,000 lines each "
                           "(bar: below 200 MB).").rstrip("\n") + "\n"
    target = os.environ.get("RESULTS", "bench/machines/RESULTS.md")
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


main()
