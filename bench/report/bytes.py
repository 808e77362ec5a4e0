"""Says which parts of a page take its bytes.

bytes.py PAGE [EXAMPLE]: with EXAMPLE, the longest element of that part is printed, e.g. `track`.
"""

import re
import sys

PARTS = {
    "style": r"<style>.*?</style>",
    "script": r"<script.*?</script>",
    "table of numbers, tags": r"<t(?:able|head|body|r|h|d)\b[^>]*>|</t(?:able|head|body|r|h|d)>",
    "job as it ran": r"<pre.*?</pre>",
    "captions": r"<figcaption>.*?</figcaption>",
    "tracks": r'<path class="track[^>]*/>',
    "dots of rounds and trials": r'<path class="(?:values|trials)"[^>]*/>',
    "percentile lines": r'<path class="thin"[^>]*/>',
    "other paths": r"<path [^>]*/>",
    "lines, circles, rectangles": r"<(?:line|circle|rect) [^>]*/>",
    "texts of pictures": r"<text\b.*?</text>",
    "groups": r"<g\b[^>]*>|</g>|<title>.*?</title>",
    "pictures' own tags": r"</?svg[^>]*>",
}

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()
whole = len(page.encode())
rest = page
print(f"{'part':28} {'kB':>8} {'%':>6} {'number':>8}")
for name, pattern in PARTS.items():
    found = re.findall(pattern, rest, re.DOTALL)
    size = sum(len(one.encode()) for one in found)
    print(f"{name:28} {size / 1e3:8.1f} {100 * size / whole:6.1f} {len(found):8}")
    if sys.argv[2:] == [name] and found:
        print(max(found, key=len)[:2000])
    rest = re.sub(pattern, "", rest, flags=re.DOTALL)
tags = re.findall(r"<[^>]*>", rest)
size = sum(len(one.encode()) for one in tags)
print(f"{'other tags':28} {size / 1e3:8.1f} {100 * size / whole:6.1f} {len(tags):8}")
text = len(re.sub(r"<[^>]*>", "", rest).encode())
print(f"{'text, and numbers of tables':28} {text / 1e3:8.1f} {100 * text / whole:6.1f}")
print(f"{'all':28} {whole / 1e3:8.1f}")
