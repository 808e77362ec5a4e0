"""Machines that share this one's kernel: sshds in mount namespaces with a boot id, block cgroups and a state directory of their own."""

import os
import socket
import subprocess
import time
import uuid

V1 = "/sys/fs/cgroup/blkio"
ROOT = V1 if os.path.isdir(V1) else "/sys/fs/cgroup"


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


class Machine:
    """An sshd whose sessions see another machine."""

    def __init__(self, work, name):
        self.name, self.dir = name, os.path.join(work, name)
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
        # Debian's sshd needs this folder, which its service makes.
        os.makedirs("/run/sshd", exist_ok=True)
        self.sshd = subprocess.Popen([*self.inside, "/usr/sbin/sshd", "-D", "-e", "-f", self.at("sshd_config")],
                                     stderr=open(self.at("sshd.log"), "w"))
        while True:
            if self.sshd.poll() is not None:
                with open(self.at("sshd.log")) as log:
                    raise SystemExit(f"sshd of {name} ended: {log.read()}")
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
