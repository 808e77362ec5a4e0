#!/bin/bash
# Pushes a run from chroots of Debian 12 and 13 that have curl and certificates and nothing else for diskproof, to a registry that only
# /etc/hosts of the chroot knows, with `hosts: files resolve dns`. Then it pulls the run there. Needs root, mmdebstrap and docker-registry.
#   BINARY   the static binary; default: that of the release build
#   CHROOTS  a folder with SUITE.tar, made before by mmdebstrap; default: mmdebstrap makes them now
#   SUITES   which suites; default: bookworm trixie
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=$(realpath "${BINARY:-target/x86_64-unknown-linux-gnu/release/diskproof}")
port=${PORT:-5918}
work=$(mktemp -d "${TMPDIR:-/tmp}/diskproof-bench-XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
chmod 755 "$work"
cat >"$work/registry.yml" <<END_OF_FILE
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $work/data } }
http: { addr: "127.0.0.1:$port" }
END_OF_FILE
# A run to send, from a file of fio: the chroot has no disk to measure.
fio --name=tiny --filename="$work/tiny" --size=1m --rw=read --output-format=json --output="$work/job.json"
docker-registry serve "$work/registry.yml" >/dev/null 2>&1 &
server=$!
if readelf --program-headers "$binary" | grep -q INTERP; then echo "$binary isn't static" >&2; exit 1; fi
for suite in ${SUITES:-bookworm trixie}; do
    root=$work/$suite
    if [ -e "${CHROOTS:-}/$suite.tar" ]; then mkdir "$root" && tar -xf "$CHROOTS/$suite.tar" -C "$root"
    else mmdebstrap --quiet --variant=essential --include=curl,ca-certificates "$suite" "$root"; fi
    sed -i 's/^hosts:.*/hosts: files resolve dns/' "$root/etc/nsswitch.conf"
    grep -q '^hosts:' "$root/etc/nsswitch.conf" || echo 'hosts: files resolve dns' >>"$root/etc/nsswitch.conf"
    echo "127.0.0.1 registry.test" >"$root/etc/hosts"
    cp "$binary" "$root/usr/bin/diskproof"
    cp "$work/job.json" "$root/root/"
    cat >"$root/root/try.sh" <<'END_OF_FILE'
set -eu
cat /etc/debian_version
grep ^hosts: /etc/nsswitch.conf
curl --version | head -n 1
at=oci://registry.test:$1/$2:run
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
diskproof import /root/job.json
diskproof push latest "$at" --plain-http --yes
diskproof --store /root/other.db pull "$at" --plain-http
diskproof --store /root/other.db list
END_OF_FILE
    # The mounts end with the namespace. A password's file, a home and a user's settings are none of what is needed.
    unshare --mount --pid --fork --kill-child sh -c 'mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
        exec chroot "$0" sh /root/try.sh "$1" "$2"' "$root" "$port" "$suite"
    echo "$suite: works"
done
