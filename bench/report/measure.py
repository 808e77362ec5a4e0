"""Times `diskproof report` beside `diskproof show` on one store, in turn, and says how large the pages and its memory are.

measure.py BINARY STORE FOLDER [many]: with `many`, the report is a folder of pages.
"""

import os
import statistics
import subprocess
import sys
import time
import zlib

BINARY, STORE, FOLDER = sys.argv[1:4]
MANY = sys.argv[4:] == ["many"]
PAGES = os.path.join(FOLDER, "pages" if MANY else "page.html")
COMMANDS = {
    "show": ["show", "latest"],
    "report": ["report", "latest", "-o", PAGES + "/" if MANY else PAGES],
    "report, one picture": ["report", "latest", "--chart", "dots-1", "-o", os.path.join(FOLDER, "dots.svg")],
}
REPEATS = 3 if MANY else 7


def measured(words):
    """Seconds and the most memory, in megabytes."""
    begin = time.monotonic()
    child = subprocess.Popen([BINARY, "--store", STORE, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{words} failed")
    return time.monotonic() - begin, usage.ru_maxrss / 1000


def size(path):
    """Bytes of a page, and its bytes when compressed."""
    with open(path, "rb") as file:
        page = file.read()
    return len(page), len(zlib.compress(page))


found = {name: [] for name in COMMANDS}
for _ in range(REPEATS):
    for name, words in COMMANDS.items():
        found[name].append(measured(words))
for name, all_of_it in found.items():
    times = [seconds for seconds, _ in all_of_it]
    memory = max(megabytes for _, megabytes in all_of_it)
    print(f"{name:24} median {statistics.median(times):6.2f} s   worst {max(times):6.2f} s   memory {memory:4.0f} MB")
sizes = [size(os.path.join(PAGES, name)) for name in sorted(os.listdir(PAGES))] if MANY else [size(PAGES)]
plain, packed = (sum(part) / 1e6 for part in zip(*sizes))
largest = max(sizes)[0] / 1e6
print(f"{len(sizes)} pages, {plain:.2f} MB in all, the largest {largest:.2f} MB; compressed {packed:.2f} MB")
