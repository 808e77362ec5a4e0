"""Runs one experiment on one machine and on several, and prints the wall times and their ratio as Markdown."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid

WORK, BINARY, MACHINES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
V1 = "/sys/fs/cgroup/blkio"
ROOT = V1 if os.path.isdir(V1) else "/sys/fs/cgroup"
ROUNDS = 3


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


class Machine:
    """An sshd whose sessions see another machine."""

    def __init__(self, name):
        self.name, self.dir = name, os.path.join(WORK, name)
        for part in ("state", "cache", "cgroup"):
            os.makedirs(os.path.join(self.dir, part))
        for key in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.at(key))
        boot = str(uuid.uuid4())
        self.put("boot_id", boot + "\n")
        self.put("machine-id", boot.replace("-", "") + "\n")
        self.group = os.path.join(ROOT, f"diskproof-bench-{name}")
        os.mkdir(self.group)
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/mnt")
        while os.readlink(f"/proc/{self.holder.pid}/ns/mnt") == own or self.comm() != "sleep":
            time.sleep(0.01)
        self.inside = ["nsenter", "--mount", "--target", str(self.holder.pid)]
        for step in (["mount", "--bind", self.at("boot_id"), "/proc/sys/kernel/random/boot_id"],
                     ["mount", "--bind", self.at("machine-id"), "/etc/machine-id"],
                     ["mount", "--bind", self.group, self.at("cgroup")],
                     ["umount", "--lazy", ROOT],
                     ["mount", "--move", self.at("cgroup"), ROOT]):
            run(*self.inside, *step)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.put("sshd_config", f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.at('host')}\nPidFile none\n"
                 f"StrictModes no\nUsePAM no\nPermitRootLogin yes\nAuthorizedKeysFile {self.at('user.pub')}\n"
                 f"SetEnv DISKPROOF_STATE={self.at('state')} XDG_CACHE_HOME={self.at('cache')}\n")
        self.sshd = subprocess.Popen([*self.inside, "/usr/sbin/sshd", "-D", "-e", "-f", self.at("sshd_config")],
                                     stderr=open(self.at("sshd.log"), "w"))
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.02)

    def comm(self):
        with open(f"/proc/{self.holder.pid}/comm") as file:
            return file.read().strip()

    def at(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        with open(self.at(name), "w") as file:
            file.write(text)

    def client(self):
        with open(self.at("host.pub")) as key, open(self.at("known"), "w") as known:
            known.write("* " + key.read())
        return (f"Host {self.name}\n HostName 127.0.0.1\n Port {self.port}\n User root\n IdentityFile {self.at('user')}\n"
                f" IdentitiesOnly yes\n UserKnownHostsFile {self.at('known')}\n GlobalKnownHostsFile none\n")

    def end(self):
        for process in (self.sshd, self.holder):
            process.kill()
            process.wait()
        os.rmdir(self.group)


def measured(names, label, rounds=ROUNDS):
    """Runs the experiment on these machines; returns its wall time and the trials that overlapped."""
    targets = ", ".join(f"{name}: {{ ssh: {name} }}" for name in names)
    path = os.path.join(WORK, f"{label}.yaml")
    with open(path, "w") as file:
        file.write(f"experiment: {label}\ntargets: {{ {targets} }}\n"
                   "volumes: { vol: { count: 2, emulate: { size: 16m, iops: 100 } } }\n"
                   'stacks: { one: { on: "vol[0]" }, ext4: { on: "vol[1]", layers: [ ext4 ] } }\n'
                   "workloads: { read: { rw: randread, bs: 4k, iodepth: 4, size: 4m, direct: 1 } }\n"
                   f"measure: {{ trial: 5s, ramp: 1s, rounds: {rounds} }}\n")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": WORK, "DISKPROOF_STATE": os.path.join(WORK, "here"),
                   "DISKPROOF_SSH_CONFIG": os.path.join(WORK, "ssh_config")}
    began = time.monotonic()
    ran = subprocess.run([BINARY, "run", path, "--json"], cwd=WORK, env=environment, capture_output=True, text=True)
    took = time.monotonic() - began
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    running, most, done = 0, 0, 0
    for line in ran.stdout.splitlines():
        event = json.loads(line)
        if event["event"] == "trial_started":
            running += 1
            most = max(most, running)
        if event["event"] == "trial_finished":
            running -= 1
            done += event["record"]["outcome"] == "measured"
    return took, most, done


def main():
    machines = []
    try:
        machines.extend(Machine(f"m{number}") for number in range(MACHINES))
        with open(os.path.join(WORK, "ssh_config"), "w") as file:
            file.write("".join(machine.client() for machine in machines))
        names = [machine.name for machine in machines]
        measured(names, "warm-up", 1)  # copies the program to all machines
        print("| machines | trials | most at the same time | wall time |\n| --- | --- | --- | --- |")
        times = {}
        for label, some in (("one", names[:1]), ("all", names), ("one-again", names[:1])):
            took, most, done = measured(some, label)
            times[label] = took
            print(f"| {len(some)} | {done} | {most} | {took:.1f} s |", flush=True)
        ratio = times["all"] / ((times["one"] + times["one-again"]) / 2)
        print(f"\nratio: {ratio:.2f} (bar: 1.20)")
    finally:
        for machine in machines:
            machine.end()
        shutil.rmtree(WORK, ignore_errors=True)


main()
