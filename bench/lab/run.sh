#!/bin/bash
# How long from nothing to the first command in a restored guest: bar 6 s, on a machine with nothing else to do.
#
#   bench/lab/run.sh [TIMES]      10 times; as root, with the release build (make build; DISKPROOF=PATH for another) and the image
#
# Each time: `lab up` of a guest that is not there, `lab ssh -- true`, `lab down`. Prints a Markdown table.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
is_root || die "the image's folder is root's"
times=${1:-10}
diskproof=${DISKPROOF:-$("$root_dir/scripts/build.sh" --path)}
[ -x "$diskproof" ] || die "$diskproof is not there: run make build"
name=diskproof-bench-lab
trap '"$diskproof" lab down --name $name' EXIT
now() { date +%s.%N; }

"$diskproof" lab up --name $name -q >/dev/null # builds, boots and saves, if that was never done
"$diskproof" lab down --name $name
echo "| time | restore to first command (s) | down (s) | load average |"
echo "| --- | --- | --- | --- |"
for n in $(seq "$times"); do
    load=$(cut -d' ' -f1 /proc/loadavg)
    began=$(now)
    "$diskproof" lab up --name $name -q >/dev/null
    "$diskproof" lab ssh --name $name -- true
    ran=$(now)
    "$diskproof" lab down --name $name
    awk -v n="$n" -v a="$began" -v b="$ran" -v c="$(now)" -v load="$load" 'BEGIN { printf "| %d | %.2f | %.2f | %s |\n", n, b - a, c - b, load }'
done
