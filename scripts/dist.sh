#!/bin/bash
# Packs the program, its man pages and completions: a tarball, a Debian package and their checksums, below dist/.
#   dist.sh [PROGRAM [DIR]]     another program than the release build (the tests pack theirs), another directory than dist
# The same commit gives the same bytes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$root_dir"
program=${1:-$binary}
out=$(mkdir -p "${2:-dist}" && cd "${2:-dist}" && pwd)
[ -x "$program" ] || die "$program is not there: run make build"
[ -n "$version" ] || die "Cargo.toml names no version"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
name=diskproof-$version-linux-x86_64
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# The files below a prefix.
put() {
    scripts/install.sh "$1" "$program"
    install -D -m 0644 README.md "$1/share/doc/diskproof/README.md"
    install -m 0644 CHANGELOG.md LICENSE* "$1/share/doc/diskproof/"
}

put "$stage/$name"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$stage" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"

deb=$stage/deb
put "$deb/usr"
gzip -9n "$deb"/usr/share/man/man1/*.1
mkdir "$deb/DEBIAN"
cat >"$deb/DEBIAN/control" <<EOF
Package: diskproof
Version: $version
Architecture: amd64
Maintainer: the diskproof project <diskproof@localhost>
Section: utils
Priority: optional
Installed-Size: $(du -sk --apparent-size "$deb/usr" | cut -f1)
Recommends: fio, util-linux, mount, e2fsprogs, xfsprogs, btrfs-progs
Suggests: lvm2, mdadm, zfsutils-linux, cryptsetup-bin, bcache-tools, nfs-kernel-server, bonnie++, qemu-system-x86
Description: honest storage benchmarking
 Builds storage stacks (LVM, md, ZFS, btrfs, file systems, NFS), measures them
 in interleaved rounds, shows where every byte came from, and takes them down
 again. One static program.
EOF
(cd "$deb" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --build --root-owner-group -Zxz "$deb" "$out/diskproof_${version}_amd64.deb" >/dev/null
(cd "$out" && sha256sum "$name.tar.gz" "diskproof_${version}_amd64.deb" >SHA256SUMS)
say "$out: $(cd "$out" && ls -m ./*.tar.gz ./*.deb SHA256SUMS)"
