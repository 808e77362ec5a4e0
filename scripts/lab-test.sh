#!/bin/bash
# Runs the lab_ tests of crates in a guest: compiled here, run there as root, one at a time.
#   lab-test.sh CRATE[,CRATE...] [FILTER...]      e.g. lab-test.sh stack lab_lvm
#   LAB_NAME=diskproof-test-lab   the guest; it is started if it isn't up, and stays up
#   LAB_MEMORY=1g LAB_ZFS=no      what is asked for when it must be started
# Ends with 0 if all passed; a guest that can't be had is a failure.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
[ $# -ge 1 ] || die "usage: lab-test.sh CRATE[,CRATE...] [FILTER...]"
crates=${1//,/ }
shift
name=${LAB_NAME:-diskproof-test-lab}
built=$root_dir/target/$target/debug
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

lab() { $as_root "$built/diskproof" lab "$@"; }
zfs=()
[ "${LAB_ZFS:-yes}" = yes ] || zfs=(--without-zfs)
can_root || die "the lab needs root"

# A program without its symbols, at the same path in the stage: a guest decrypts each byte in software.
stage_program() {
    [ -x "$1" ] || return 0
    mkdir -p "$stage$(dirname "$1")"
    strip -o "$stage$1" "$1"
}

# The beginnings of the names of tests that are asked for, as a regular expression.
wanted=()
for ((at = 1; at <= $#; at++)); do
    if [ "${!at}" = --skip ]; then at=$((at + 1)); else wanted+=("${!at}"); fi
done
[ ${#wanted[@]} -gt 0 ] || wanted=(lab_)
pattern=$(IFS="|" && echo "${wanted[*]}")

cargo binary
# of the whole workspace, as in other tiers: for fewer packages cargo would choose other features and compile most of it anew
tested=$(cargo test --locked --workspace --tests --no-run --message-format=json 2>"$stage.log") ||
    { cat "$stage.log" >&2; rm -f "$stage.log"; die "the tests do not build"; }
rm -f "$stage.log"
programs=()
for crate in $crates; do
    [ -d "crates/$crate" ] || die "there is no crate $crate"
    for program in $(grep -F "\"manifest_path\":\"$root_dir/crates/$crate/Cargo.toml\"" <<<"$tested" | grep '"test":true' | grep -o '"executable":"[^"]*"' | cut -d'"' -f4); do
        # all of the list is read: a grep that ends at the first match breaks the pipe, and the program would count as without tests
        [ "$("$program" --list 2>/dev/null | grep -cE "^($pattern).*: test$")" -gt 0 ] || continue
        stage_program "$program"
        programs+=("$crate:$program")
    done
    mkdir -p "$stage$root_dir/crates/$crate"
done
[ ${#programs[@]} -gt 0 ] || die "there are no lab_ tests in: $crates"
stage_program "$built/diskproof"
stage_program "$built/diskproof-native-worker"
cp -r experiments "$stage$root_dir/"

# disks with serial numbers, to be claimed in the guest
disks=()
for disk in killed1 killed2; do disks+=(--disk "$disk:size=64m"); done
lab up --name "$name" --memory "${LAB_MEMORY:-1g}" "${zfs[@]}" "${disks[@]}"
tar -C "$stage" -cf - . | gzip -1 | lab ssh --name "$name" -- tar --no-same-owner --no-overwrite-dir -C / -xzf -
# how many faults and kills there were is what such a run is for
tries=(${DISKPROOF_TEST_DAY:+"DISKPROOF_TEST_DAY=$DISKPROOF_TEST_DAY"})
show=()
for name_of in DISKPROOF_TEST_FAULTS DISKPROOF_TEST_KILLS; do
    [ -z "${!name_of:-}" ] || { tries+=("$name_of=${!name_of}") && show=(--show-output); }
done
status=0
for program in "${programs[@]}"; do
    crate=${program%%:*} program=${program#*:}
    # shellcheck disable=SC2016
    lab ssh --name "$name" -- sh -c 'cd "$1" && shift && exec env "$@"' \
        sh "$root_dir/crates/$crate" "${tries[@]}" "$program" --test-threads=1 "${show[@]}" --skip loop_ --skip real_ "${@:-lab_}" </dev/null || status=$?
done
exit "$status"
