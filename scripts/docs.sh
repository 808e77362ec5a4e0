#!/bin/bash
# Makes outputs and pictures of the documents from real runs, on emulated volumes of this machine: as root or with sudo, about eight
# minutes; the burst credit of why-numbers-lie needs a lab guest. It writes between <!-- made: NAME --> and <!-- end --> and into docs/pictures.
#   readme | tutorial | lies    only these
# DISKPROOF: another binary than the release build. The README's experiment is not run again: its answer is that of the stored run
# tests/page/demo.db, judged by this version.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
program=$(realpath "${DISKPROOF:-$binary}")
[ -x "$program" ] || die "missing: $program; 'make build' makes it"
parts=${*:-readme tutorial lies}
work=$(mktemp -d /var/tmp/diskproof-docs-XXXXXX)
trap 'finish' EXIT
# The examples are run in the directory of somebody who tries them.
home=$work/home
mkdir -p "$home" "$work/bin" docs/pictures
export DISKPROOF_STORE=$work/store.db DISKPROOF_STATE=$work/state DISKPROOF_COLOR=never COLUMNS=100
ln -s "$program" "$work/bin/diskproof"
PATH=$work/bin:$PATH
pictures=$PWD/docs/pictures
experiments=$PWD/experiments
neighbour=
kind=release
[[ $program == */debug/* ]] && kind=development

finish() {
    [ -z "$neighbour" ] || kill "$neighbour" 2>/dev/null || true
    $as_root "$program" undo >/dev/null 2>&1 || true
    $as_root rm -rf "$work"
}

# diskproof, as root where this script can be; the environment names its store and state.
diskproof() {
    if [ -n "$as_root" ]; then
        $as_root env DISKPROOF_STORE="$DISKPROOF_STORE" DISKPROOF_STATE="$DISKPROOF_STATE" COLUMNS=100 "$program" "$@"
    else
        "$program" "$@"
    fi
}

# Shows a command as somebody types it, and what it prints. $2: `2` for its messages, too
typed() {
    echo "\$ $1"
    local words
    read -ra words <<<"${1#*diskproof}"
    (cd "$home" && if [ "${2:-}" = 2 ]; then diskproof "${words[@]}" 2>&1; else diskproof "${words[@]}" 2>"$work/messages"; fi) | shown || true
}
# The folders of this script are shown as those that somebody has.
shown() { sed -e "s#$work/state#/var/lib/diskproof#g" -e "s#$home#/home/you#g" -e 's/ *$//'; }

# Replaces what stands between the marks of a name by its input, as a code block. $1: the document, $2: the name, $3: the block's language,
# or `text`: no block
put() {
    local text
    text=$(cat)
    [ -n "$text" ] || { warn "$1: nothing was made for $2, so it stays as it was"; touch "$work/lacking"; return 0; }
    grep -q "^<!-- made: $2 -->$" "$1" || die "$1 has no <!-- made: $2 -->"
    if [ "$3" = text ]; then printf '\n%s\n\n' "$text"; else printf '```%s\n%s\n```\n' "$3" "$text"; fi >"$work/new"
    awk -v mark="<!-- made: $2 -->" -v file="$work/new" '
        inside && $0 == "<!-- end -->" { inside = 0 }
        !inside { print }
        $0 == mark { inside = 1; while ((getline line < file) > 0) print line }
        END { exit inside }' "$1" >"$work/document" || die "$1 has no <!-- end --> after <!-- made: $2 -->"
    cat "$work/document" >"$1"
}

# The lines from the first that matches $1 up to the next that matches $2.
# It reads all of its input: a program before it that can't write any more would count as failed.
part() { awk -v from="$1" -v to="$2" 'begun && $0 ~ to { over = 1 } $0 ~ from { begun = 1 } begun && !over'; }

# The block of a language in a document that holds the line $3, or the first one: what the document shows is what is run.
block() {
    awk -v fence="\`\`\`$2" -v line="${3:-}" '
        $0 == fence { on = 1; text = ""; found = line == ""; next }
        on && /^```/ { if (found) { printf "%s", text; exit } on = 0 }
        on { text = text $0 "\n"; found = found || $0 == line }' "$1"
}

# When, with what and where the figures were made. $1: a run
made_by() {
    local machine
    machine=$(diskproof show "$1" | awk '/^Machine: / { on = 1 } /^Run / { on = 0 } on' | tr '\n' ' ' | sed 's/^Machine: //; s/[. ]*$//')
    echo "\`make docs\` made the output and the pictures of this page on $(date -u +%F), with a $kind build of" \
        "$("$program" --version | sed 's/ (of an unknown commit)//'), on this machine: $machine." | fmt -w 120
}

picture() { diskproof report "$1" --chart "$2" -o "$work/picture.svg" && cat "$work/picture.svg" >"$pictures/$3.svg"; }

# The first screen of a run's page. Without Chromium the old picture stays.
screenshot() {
    command -v chromium >/dev/null || { say "no chromium: $2.png stays as it was"; return 0; }
    diskproof report "$1" -o "$work/page.html"
    HOME=$work chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,800 --user-data-dir="$work/chromium" \
        --screenshot="$work/page.png" "file://$work/page.html" >/dev/null 2>&1
    cat "$work/page.png" >"$pictures/$2.png"
}

quick_answer() {
    [ -s "$work/quick" ] || typed 'diskproof quick .' >"$work/quick"
    part '^Answer' '^What to know' <"$work/quick"
}

readme() {
    quick_answer | put README.md quick ''
    cp tests/page/demo.db "$work/demo.db"
    local DISKPROOF_STORE=$work/demo.db
    diskproof show latest | put README.md demo ''
    picture latest dots-1 striped-volumes
}

tutorial() {
    local page=docs/tutorial.md
    block $page yaml >"$home/commits.yaml"
    made_by "$(quick_answer >/dev/null; echo quick@last)" | put $page made-by text
    { head -n 1 "$work/quick"; quick_answer; } | put $page quick console
    part '^What to know' '^(Devices|± is)' <"$work/quick" | put $page quick-caveats ''
    rm -f "$home/my.yaml"
    typed 'diskproof new my.yaml' 2 | put $page new console
    typed 'diskproof plan commits.yaml' | put $page plan console
    typed 'sudo diskproof run commits.yaml' | put $page run console
    typed 'diskproof list' | put $page list console
    picture latest dots-1 tutorial-commits
    screenshot latest tutorial-report
    diskproof tag latest before
    typed 'sudo diskproof run commits.yaml --set limit=300' >/dev/null
    typed 'diskproof compare commits@before latest' | put $page compare console
    killed
    typed 'sudo diskproof undo' 2 | put $page undo console
}

# A run that is killed at once with all its processes, as a power cut does it: they are the session that is begun here.
killed() {
    (cd "$home" && exec setsid $as_root env DISKPROOF_STORE="$DISKPROOF_STORE" DISKPROOF_STATE="$DISKPROOF_STATE" "$program" --quiet run commits.yaml >/dev/null 2>&1) &
    local session=$!
    sleep 12
    $as_root pkill -KILL -s "$session" || die "the run that was to be killed had ended by itself"
    wait "$session" 2>/dev/null || true
    sleep 1
}

# What diskproof says first of a workload, notes aside. $1: a run, $2: a part of the workload's name, or nothing
said_of() {
    diskproof show "$1" | shown | part '^What to know' '^(Devices|± is|Precision)' | awk -v name="$2" '
        function done() { if (text != "" && (name == "" || text ~ "\n    in [^\n]*" name) && !shown && text !~ /^  note/) { printf "%s", text; shown++ } text = "" }
        /^  [A-Za-z]/ { done() }
        /^ / { text = text $0 "\n" }
        END { done() }'
}

# A load beside another program that writes to the same disk.
beside() {
    local page=docs/why-numbers-lie.md alone
    block $page yaml "experiment: neighbour" >"$home/neighbour.yaml"
    diskproof --quiet run "$home/neighbour.yaml" >/dev/null
    alone=$(row neighbour@last)
    while :; do dd if=/dev/zero of="$home/backup" bs=1M count=512 oflag=direct conv=notrunc 2>/dev/null || exit 0; done &
    neighbour=$!
    diskproof --quiet run "$home/neighbour.yaml" >/dev/null
    kill "$neighbour"
    wait "$neighbour" 2>/dev/null || true
    neighbour=
    { echo "without the backup: $alone"; echo "beside the backup:  $(row neighbour@last)"; echo; said_of neighbour@last ''; } | put $page neighbour ''
}

# A disk with a burst credit, in a lab guest: a short trial and a long one, each on a new disk. The guest's image is this machine's own, so it
# is built only once.
burst() {
    local page=docs/why-numbers-lie.md short DISKPROOF_STATE=/var/lib/diskproof
    block $page yaml "experiment: burst" >"$home/burst.yaml"
    diskproof --quiet run "$home/burst.yaml" >/dev/null
    short=$(row burst@last)
    diskproof --quiet run "$home/burst.yaml" --set length=30s >/dev/null
    { echo "trials of 3 s:  $short"; echo "trials of 30 s: $(row burst@last)"; echo; said_of burst@last ''; } | put $page burst ''
}

# The figures of a run with one cell.
row() { diskproof show "$1" | awk '/^──/ && !found { getline; print; found = 1 }' | sed 's/^ *//; s/  */ /g'; }

lies() {
    local page=docs/why-numbers-lie.md name
    diskproof run "$experiments/why-numbers-lie.yaml" 2>"$work/messages" | shown >"$work/lies"
    part '^workload' '^(Answer|What to know)' <"$work/lies" | put $page table ''
    for name in cache hole compressor; do said_of why-numbers-lie@last "$name" | put $page "$name" ''; done
    made_by why-numbers-lie@last | put $page made-by text
    burst
    beside
}

can_root || die "make docs needs root or sudo: it makes emulated volumes"
for part in $parts; do
    case $part in
        readme | tutorial | lies) say "== $part ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; "$part" ;;
        *) die "usage: docs.sh [readme|tutorial|lies]..." ;;
    esac
done
[ ! -e "$work/lacking" ] || die "not all was made; the lines above say what is missing"
say "== written in $((SECONDS / 60)) min $((SECONDS % 60)) s"
