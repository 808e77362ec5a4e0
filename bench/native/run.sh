#!/bin/bash
# The native engine and fio side by side in one run: every bar of docs/engine.md, as bench/native/RESULTS.md.
#
#   bench/native/run.sh [DIRECTORY [ROUNDS [SECONDS]]]      a directory on a local file system (/var/tmp); 6 rounds of 2.5 s;
#                                                        DEPTH=32 for another depth than 128
#
# Needs fio and python3; valgrind for instructions per I/O; root for zram and for the throttled volumes; Debian's source of fio for its
# t/io_uring (or its path in T_IO_URING). What can't be measured is said in the results, and the rest is measured all the same.
# Nothing is left behind but the results and, in target/, what was built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
directory=$(mktemp -d "${1:-/var/tmp}/diskproof-bench-native.XXXXXX")
zram_number=
zram_missing=

finish() {
    [ -d "$directory/zram" ] && umount "$directory/zram" 2>/dev/null
    [ -n "$zram_number" ] && echo 1 >"/sys/block/zram$zram_number/reset" && echo "$zram_number" >/sys/class/zram-control/hot_remove
    rm -rf "$directory"
}
trap finish EXIT

# A file system on a zram device of its own, in $directory/zram; else says why not in zram_missing.
make_zram() {
    is_root || { zram_missing="it needs root"; return 0; }
    [ -e /sys/class/zram-control/hot_add ] || { zram_missing="this kernel has no zram"; return 0; }
    zram_number=$(cat /sys/class/zram-control/hot_add) || { zram_missing="no zram device can be added"; return 0; }
    if ! { echo 1G >"/sys/block/zram$zram_number/disksize" && mkfs.ext4 -q -F -E nodiscard "/dev/zram$zram_number" &&
        mkdir "$directory/zram" && mount "/dev/zram$zram_number" "$directory/zram"; } >"$directory/zram.log" 2>&1; then
        zram_missing="no file system on zram: $(tail -n1 "$directory/zram.log")"
    fi
}

# fio's t/io_uring from Debian's source of the fio that is installed, kept in target/.
t_io_uring=${T_IO_URING:-$root_dir/target/bench/t_io_uring}
t_io_uring_missing=
make_t_io_uring() {
    [ -x "$t_io_uring" ] && return 0
    local log=$directory/t_io_uring.log
    if ! (fetch_and_build_t_io_uring) >"$log" 2>&1 </dev/null; then
        t_io_uring_missing="it can't be built from Debian's source of fio: $(tail -n1 "$log")"
        t_io_uring=
    fi
}

# Debian's sources by a list of our own: the machine's is left as it is.
fetch_and_build_t_io_uring() {
    set -e
    local apt=$directory/apt
    mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
    [ ! -f /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$apt/parts/debian.list"
    [ ! -f /etc/apt/sources.list.d/debian.sources ] ||
        sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$apt/parts/debian.sources"
    local options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::http::Timeout=20 -o Acquire::Retries=0)
    cd "$apt"
    timeout 120 apt-get "${options[@]}" update
    timeout 120 apt-get "${options[@]}" source --download-only fio
    tar xzf fio_*.orig.tar.gz
    cd fio-*/
    ./configure
    make -j2 t/io_uring
    mkdir -p "$(dirname "$t_io_uring")"
    cp t/io_uring "$t_io_uring"
}

say "bench: building"
"$root_dir/scripts/build.sh" >/dev/null
cargo build --quiet --release --package diskproof-engine --examples
make_t_io_uring
make_zram
zram=$directory/zram
[ -z "$zram_missing" ] || zram=
python3 "$here/measure.py" --programs "$(dirname "$binary")" --diskproof "$binary" --directory "$directory" \
    --rounds "${2:-6}" --seconds "${3:-2.5}" --results "$here/RESULTS.md" --command "${DEPTH:+DEPTH=$DEPTH }bench/native/run.sh${*:+ $*}" \
    --zram "$zram" --zram-missing "$zram_missing" --t-io-uring "$t_io_uring" --t-io-uring-missing "$t_io_uring_missing"
