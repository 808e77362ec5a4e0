"""Debian's `aws` without its start of half a second: `/usr/bin/python3 aws_relay.py SOCKET`.

It imports the program once, and forks for each call. A call is one line of JSON {"args": [...], "stdin": TEXT, "env": {...}}; the answer is
{"status": N, "stdout": TEXT, "stderr": TEXT}. What is forked is the program itself, with the arguments of a call. It ends with its stdin.
"""

import json
import os
import signal
import socket
import sys
import threading

import awscli.clidriver

DRIVER = awscli.clidriver.create_clidriver()
SERVICE = DRIVER.subcommand_table["ec2"]
SERVICE.subcommand_table  # reads the service model, which costs most of a start
DRIVER.session.get_component("data_loader").load_service_model("ec2", "paginators-1")
DRIVER.session.get_component("data_loader").load_data("endpoints")


def captured(name):
    return os.memfd_create(name)


def text_of(fd):
    os.lseek(fd, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(fd, 1 << 16), b"")).decode(errors="replace")


def call(request):
    files = [captured(name) for name in ("in", "out", "err")]
    os.write(files[0], request.get("stdin", "").encode())
    os.lseek(files[0], 0, os.SEEK_SET)
    child = os.fork()
    if child == 0:
        for number, fd in enumerate(files):
            os.dup2(fd, number)
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update(request["env"])
        try:
            status = DRIVER.main(request["args"])
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)
    _, status = os.waitpid(child, 0)
    return {"status": os.waitstatus_to_exitcode(status), "stdout": text_of(files[1]), "stderr": text_of(files[2])}


def serve(connection):
    with connection:
        line = connection.makefile("rb").readline()
        try:
            connection.sendall(json.dumps(call(json.loads(line))).encode())
        except BrokenPipeError:
            pass  # the caller was killed; its call is done all the same


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    print("ready", flush=True)

    def accept():
        while True:
            connection, _ = listener.accept()
            # forked from here, so that the child has one thread and no lock that another holds
            if os.fork() == 0:
                listener.close()
                serve(connection)
                os._exit(0)
            connection.close()
            while True:
                try:
                    if os.waitpid(-1, os.WNOHANG)[0] == 0:
                        break
                except ChildProcessError:
                    break

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
