"""Times `diskproof report` beside `diskproof show` on one store, in turn, and says how large the page is."""

import os
import statistics
import subprocess
import sys
import time
import zlib

BINARY, STORE, FOLDER = sys.argv[1:4]
PAGE = os.path.join(FOLDER, "page.html")
COMMANDS = {
    "show": ["show", "latest"],
    "report": ["report", "latest", "-o", PAGE],
    "report, one picture": ["report", "latest", "--chart", "dots-1", "-o", os.path.join(FOLDER, "dots.svg")],
}
REPEATS = 7


def seconds(words):
    begin = time.monotonic()
    subprocess.run([BINARY, "--store", STORE, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


times = {name: [] for name in COMMANDS}
for _ in range(REPEATS):
    for name, words in COMMANDS.items():
        times[name].append(seconds(words))
for name, all_of_it in times.items():
    print(f"{name:24} median {statistics.median(all_of_it):6.2f} s   worst {max(all_of_it):6.2f} s")
with open(PAGE, "rb") as file:
    page = file.read()
print(f"page {len(page) / 1e6:.2f} MB, compressed {len(zlib.compress(page)) / 1e6:.2f} MB")
