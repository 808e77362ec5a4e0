#!/usr/bin/env python3
"""Boots the guest of run.sh, shows what it says, and pulls and plugs its second disk where it asks for that."""

import json
import os
import socket
import subprocess
import sys
import time

PULLED = {"driver": "nvme", "drive": "pulled", "serial": "pulled", "bus": "port2", "id": "pulled-disk"}
MINUTES = 20


def argv(directory):
    drive = lambda name, more="": f"file={directory}/{name}.img,if=none,id={name},format=raw{more}"
    return ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35", "-smp", "2", "-m", "1536", "-nodefaults",
            "-display", "none", "-no-reboot", "-kernel", f"{directory}/vmlinuz", "-initrd", f"{directory}/initrd", "-append",
            "root=/dev/vda rw console=ttyS0 init=/init-diskproof nvme.poll_queues=2 mitigations=off tsc=reliable quiet",
            "-serial", f"file:{directory}/serial", "-qmp", f"unix:{directory}/qmp,server=on,wait=off",
            "-drive", drive("root"), "-device", "virtio-blk-pci,drive=root", "-device", "virtio-rng-pci",
            "-device", "pcie-root-port,id=port1,chassis=1", "-device", "pcie-root-port,id=port2,chassis=2",
            "-drive", drive("polled"), "-device", "nvme,drive=polled,serial=polled,bus=port1",
            "-drive", drive("pulled"), "-device", ",".join(f"{key}={value}" for key, value in PULLED.items())]


class Monitor:
    """QEMU's machine protocol: one command, one answer; events are skipped."""

    def __init__(self, path):
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        self.link = link.makefile("rw")
        json.loads(self.link.readline())
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.link.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.link.flush()
        while "event" in (answer := json.loads(self.link.readline())):
            pass
        print(f"[monitor: {command} {arguments.get('id', '')}: {answer}]")


def obey(monitor, line):
    if line == "@@pull":
        monitor.ask("device_del", id=PULLED["id"])
    elif line == "@@plug":
        monitor.ask("device_add", **PULLED)


def main():
    directory = sys.argv[1]
    guest = subprocess.Popen(argv(directory))
    try:
        while not os.path.exists(f"{directory}/qmp") or not os.path.exists(f"{directory}/serial"):
            time.sleep(0.1)
        monitor, ends, rest = Monitor(f"{directory}/qmp"), time.monotonic() + MINUTES * 60, ""
        with open(f"{directory}/serial", encoding="utf-8", errors="replace") as serial:
            while guest.poll() is None and time.monotonic() < ends:
                *lines, rest = (rest + serial.read()).split("\n")
                for line in map(str.strip, lines):
                    print(line, flush=True)
                    obey(monitor, line)
                time.sleep(0.2)
        if guest.poll() is None:
            raise SystemExit(f"the guest didn't end within {MINUTES} minutes")
    finally:
        guest.kill()
        guest.wait()


if __name__ == "__main__":
    main()
