#!/usr/bin/env python3
"""Runs a program on a terminal of its own and does to it what a user does.

    terminal.py watch BIN ARG...           looks on, changes the size, presses keys, then Ctrl-C
    terminal.py quit BIN ARG...            presses q
    terminal.py skip BIN ARG...            skips the cell that is measured, and ends the run after the round
    terminal.py stop BIN ARG...            Ctrl-Z, then goes on, then Ctrl-C
    terminal.py gone BIN ARG...            takes the terminal away
    terminal.py kill:N[:SECONDS] BIN ARG...  sends signal N, SECONDS after the view came
    terminal.py end BIN ARG...             only looks on
    terminal.py answer[:TEXT] BIN ARG...   answers the first question with TEXT; without TEXT it is asked nothing

Prints one JSON object about what the terminal received and the state in which it was left.
"""

import codecs
import fcntl
import json
import os
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 90.0
TAKEN, GIVEN_BACK = b"\x1b[?1049h", b"\x1b[?1049l"


class Screen:
    """What a terminal shows: positions, clearing and text, without attributes."""

    def __init__(self, columns, rows):
        self.columns, self.rows, self.at, self.rest = columns, rows, (0, 0), ""
        self.clear()

    def clear(self):
        self.lines = [[" "] * self.columns for _ in range(self.rows)]

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.clear()

    def write(self, text):
        text = self.rest + text
        # a sequence that isn't whole yet
        cut = re.search(r"\x1b(\[[0-9;?]*)?$", text)
        text, self.rest = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
        for sequence, end, character in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|(.)", text, re.DOTALL):
            if end == "H":
                row, column = (int(part or 1) for part in (sequence or "1;1").split(";"))
                self.at = (row - 1, column - 1)
            elif end == "J":
                self.clear()
            elif character and character >= " ":
                row, column = self.at
                if row < self.rows and column < self.columns:
                    self.lines[row][column] = character
                self.at = (row, column + 1)

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


class Terminal:
    def __init__(self, argv, columns=80, rows=24):
        self.master, self.slave = os.openpty()
        self.screen = Screen(columns, rows)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 256)
            # cargo and other parents may have ignored or blocked signals
            for number in range(1, 32):
                if number not in (signal.SIGKILL, signal.SIGSTOP):
                    signal.signal(number, signal.SIG_DFL)
            os.execv(argv[0], argv)

    def resize(self, columns, rows):
        self.screen.resize(columns, rows)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def look(self, seconds):
        """Reads what comes within so many seconds; one read returns a part of it. Returns whether anything came."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += got
        self.screen.write(self.decoder.decode(got))
        return True

    def look_at_all(self):
        while self.look(0.1):
            pass

    def shows(self, text):
        return text in self.screen.text()

    def until(self, what, holds):
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end or self.has_ended():
                # the rest may still be in the terminal
                self.look_at_all()
                if holds():
                    return
                raise SystemExit(f"{what}: not seen; the screen shows:\n{self.screen.text()}")
            self.look(0.05)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def is_stopped(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        return pid != 0 and os.WIFSTOPPED(status)

    def type(self, text):
        os.write(self.master, text)

    def is_restored(self):
        """The modes are those from before, the usual screen is back, and so are the cursor and automatic line breaks."""
        after = termios.tcgetattr(self.slave)
        back = all(
            self.seen.rfind(on) > self.seen.rfind(off) or off not in self.seen
            for off, on in ((TAKEN, GIVEN_BACK), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?7l", b"\x1b[?7h"))
        )
        return back and after == self.before

    def to_the_end(self):
        end = time.monotonic() + PATIENCE
        while not self.has_ended():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise SystemExit(f"it doesn't end; the last is {self.seen[-2000:]!r}")
            self.look(0.05)
        self.look_at_all()


def text_of(seen):
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b" ", seen).decode(errors="replace")


def main():
    scenario, argv = sys.argv[1], sys.argv[2:]
    terminal = Terminal(argv)
    if scenario.startswith("answer"):
        if ":" in scenario:
            terminal.until("a question", lambda: terminal.seen.endswith(b": "))
            terminal.type(scenario.removeprefix("answer:").encode() + b"\n")
        terminal.to_the_end()
        print(json.dumps({"status": terminal.status, "seen": text_of(terminal.seen)}))
        return
    told = {}
    terminal.until("the view", lambda: TAKEN in terminal.seen)
    if scenario == "watch":
        terminal.until("a load", lambda: terminal.shows("at the devices now: "))
        told["first"] = terminal.screen.text()
        terminal.type(b"d")
        terminal.until("details", lambda: terminal.shows("layers: "))
        terminal.type(b"d")
        terminal.until("the cells", lambda: terminal.shows("so far"))
        terminal.resize(100, 40)
        terminal.until("a larger frame", lambda: "s skip" in terminal.screen.text().split("\n")[39])
        told["larger"] = terminal.screen.text()
        terminal.type(b"s")
        terminal.until("the question", lambda: terminal.shows("s again: no more trials of"))
        terminal.type(b"n\x03")
    elif scenario == "quit":
        terminal.until("a trial", lambda: terminal.shows("measure"))
        terminal.type(b"q")
    elif scenario == "skip":
        terminal.until("a trial", lambda: terminal.shows("measure"))
        terminal.type(b"s")
        terminal.until("the question", lambda: terminal.shows("s again: no more trials of"))
        terminal.type(b"s")
        terminal.until("the skip", lambda: terminal.shows("skipped"))
        terminal.type(b"e")
        terminal.until("the end", lambda: terminal.shows("e don't end"))
    elif scenario == "stop":
        terminal.until("a trial", lambda: terminal.shows("measure"))
        terminal.type(b"\x1a")
        terminal.until("the stop", terminal.is_stopped)
        terminal.look_at_all()
        told["restored_while_stopped"] = terminal.is_restored()
        terminal.seen = b""
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.until("the view again", lambda: TAKEN in terminal.seen)
        terminal.type(b"\x03")
    elif scenario == "gone":
        terminal.until("a trial", lambda: terminal.shows("measure"))
        os.close(terminal.slave)
        os.close(terminal.master)
        _, status = os.waitpid(terminal.pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}))
        return
    elif scenario.startswith("kill:"):
        number, _, seconds = scenario.removeprefix("kill:").partition(":")
        end = time.monotonic() + float(seconds or 0)
        while time.monotonic() < end and not terminal.has_ended():
            terminal.look(0.02)
        told["was_shown"] = TAKEN in terminal.seen and GIVEN_BACK not in terminal.seen
        if not terminal.has_ended():
            os.kill(terminal.pid, int(number))
    terminal.to_the_end()
    after = terminal.seen[terminal.seen.rfind(GIVEN_BACK) :]
    told |= {
        "status": terminal.status,
        "restored": terminal.is_restored(),
        "after": text_of(after),
        "frames": terminal.seen.count(b"H"),
    }
    print(json.dumps(told))


main()
