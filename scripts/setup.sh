#!/bin/bash
# Puts in place what a step needs. Quiet and without the network when all is there.
#   rust      a C compiler, a static C library and cargo
#   tools     the programs diskproof calls
#   lab       the programs that 'diskproof lab' calls
#   page      a browser, and the packages that check reports in it
#   cloud     the aws program, and the services in Python that drivers of clouds are tested against
#   test      all of these, and what the loop tests check the guard against
#   get-rust  download the Rust toolchain, if there is none
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# command or file, Debian package
build_needs="cc gcc
/usr/lib/x86_64-linux-gnu/libc.a libc6-dev"
tool_needs="fio fio
curl curl
losetup mount
mount mount
blkid util-linux
wipefs util-linux
mkfs.ext3 e2fsprogs
mkfs.ext4 e2fsprogs
mkfs.xfs xfsprogs
mkfs.btrfs btrfs-progs"
lab_needs="qemu-system-x86_64 qemu-system-x86
qemu-img qemu-utils
mmdebstrap mmdebstrap
ssh openssh-client
/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring"
page_needs="chromium chromium
node nodejs
npm npm
/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf fonts-liberation"
cloud_needs="/usr/bin/aws awscli
/usr/bin/python3 python3
/usr/lib/python3/dist-packages/pip python3-pip"
test_needs="pip3 python3-pip
docker-registry docker-registry
swift-proxy-server swift-proxy
swift-account-server swift-account
swift-container-server swift-container
swift-object-server swift-object
memcached memcached
ssh-keygen openssh-client
python3 python3
ansible-playbook ansible-core
puppet puppet-agent
lvm lvm2
bonnie++ bonnie++
cpio cpio
rsync rsync
unshare util-linux
mkswap util-linux
strip binutils
ssh openssh-client
/usr/sbin/sshd openssh-server
zfs-fuse zfs-fuse
sshfs sshfs
script bsdutils
virsh libvirt-clients
bindfs bindfs
mkntfs ntfs-3g
socat socat
ethtool ethtool
ip iproute2
tc iproute2
gearmand gearman-job-server
gearman gearman-tools
munged munge
slurmctld slurmctld
slurmd slurmd
sbatch slurm-client
libvirtd libvirt-daemon-system
virsh libvirt-clients
dnsmasq dnsmasq-base
ebtables iptables
qemu-img qemu-utils
qemu-system-x86_64 qemu-system-x86
/usr/lib/openssh/sftp-server openssh-sftp-server"

# Packages of the given needs that are not there, each once.
missing() {
    while read -r need package; do
        [ -n "$need" ] || continue
        case $need in
            /*) [ -e "$need" ] || echo "$package" ;;
            *) command -v "$need" >/dev/null || echo "$package" ;;
        esac
    done <<<"$1" | sort -u
}

install_packages() {
    local wanted
    wanted=$(missing "$1" | tr '\n' ' ')
    [ -n "$wanted" ] || return 0
    command -v apt-get >/dev/null ||
        die "missing: $wanted(Debian's package names); this machine has no apt-get, please install them with its own tool"
    can_root || die "missing: $wanted- please install: sudo apt-get install $wanted"
    say "installing: $wanted"
    # shellcheck disable=SC2086
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
}

# Exactly the packages that the lock file names, by their digests; asks the registry only if they aren't there yet.
install_page_tools() {
    page_tools_are_there && return 0
    say "installing: the packages of tests/page/package-lock.json (npm)"
    (cd "$page_tools" && npm ci --silent --no-audit --no-fund --ignore-scripts) ||
        die "npm ci failed in tests/page: it needs the registry of npm once; 'make test-fast' does without"
    cp "$page_tools/package-lock.json" "$page_tools/node_modules/.installed.json"
}

# A second registry for the tests of 'push' and 'pull', where Go is; without it, these tests are skipped.
install_crane() {
    command -v crane >/dev/null && return 0
    local go
    go=$(command -v go || echo /usr/local/go/bin/go)
    [ -x "$go" ] && can_root || { say "not installed: crane (needs Go and root); its tests are skipped"; return 0; }
    say "installing: crane (Go)"
    $as_root env GOBIN=/usr/local/bin GOFLAGS=-p=2 "$go" install github.com/google/go-containerregistry/cmd/crane@v0.22.1 ||
        say "crane can't be built; its tests are skipped"
}

# A second server of S3 for the tests of 'push' and 'pull', which checks signatures; without it, these tests are skipped.
install_s3s_fs() {
    command -v s3s-fs >/dev/null && return 0
    find_cargo && can_root || { say "not installed: s3s-fs (needs cargo and root); its tests are skipped"; return 0; }
    say "installing: s3s-fs (cargo)"
    local built
    built=$(mktemp -d)
    if CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet s3s-fs@0.14.1 --locked --features binary --debug --root "$built"; then
        $as_root install -s -m 755 "$built/bin/s3s-fs" /usr/local/bin/s3s-fs
    else
        say "s3s-fs can't be built; its tests are skipped"
    fi
    rm -rf "$built"
}

# Beside the build: for Debian's Python, by the digests of the lock file (made by pip-compile --generate-hashes from moto, flask, flask-cors).
install_cloud_tools() {
    local wanted=$root_dir/tests/cloud/requirements.txt modules=$root_dir/target/cloud
    cmp -s "$wanted" "$modules/requirements.txt" && return 0
    say "installing: the packages of tests/cloud/requirements.txt (pip)"
    rm -rf "$modules"
    /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
        --target "$modules" -r "$wanted" ||
        die "pip failed for tests/cloud/requirements.txt: it needs the registry of Python packages once"
    cp "$wanted" "$modules/"
}

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root_dir/Cargo.toml")

# Whether $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

need_rust() {
    local how="Debian 12 has no recent enough package. Get it from rust-lang.org with one of
  make rust                                  (downloads rustup, puts everything into ~/.cargo and ~/.rustup)
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    find_cargo || die "diskproof is built with Rust $rust_wanted or later, and cargo is not on this machine.
$how"
    local have
    have=$(cd "$root_dir" && rustc --version | awk '{print $2}')
    at_least "${have%%-*}" "$rust_wanted" || die "diskproof needs Rust $rust_wanted or later; this is $have.
If it came from rustup: rustup update stable. Otherwise: $how"
}

get_rust() {
    find_cargo && { say "cargo is there: $(command -v cargo)"; return 0; }
    install_packages "curl curl
/etc/ssl/certs/ca-certificates.crt ca-certificates"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        sh -s -- -y -q --profile minimal --component clippy --component rustfmt --no-modify-path
}

case ${1:-} in
    rust) install_packages "$build_needs"; need_rust ;;
    tools) install_packages "$tool_needs" ;;
    lab) install_packages "$lab_needs" ;;
    page) install_packages "$page_needs"; install_page_tools ;;
    cloud) install_packages "$cloud_needs"; install_cloud_tools ;;
    test)
        install_packages "$build_needs"$'\n'"$tool_needs"$'\n'"$lab_needs"$'\n'"$page_needs"$'\n'"$cloud_needs"$'\n'"$test_needs"
        install_page_tools
        install_crane
        install_s3s_fs
        install_cloud_tools
        "$root_dir/scripts/google-api.sh" >/dev/null
        need_rust
        ;;
    get-rust) get_rust ;;
    *) die "usage: setup.sh rust|tools|lab|page|cloud|test|get-rust" ;;
esac
