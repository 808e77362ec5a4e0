# shellcheck shell=bash disable=SC2034
# Shared by the scripts beside it; sourced, not run.

root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=x86_64-unknown-linux-gnu
binary=$root_dir/target/$target/release/diskproof

# The version that Cargo.toml names.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root_dir/Cargo.toml" | head -n 1)

# Debian keeps mkfs and losetup where a plain user's PATH doesn't look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# The packages that check pages in a browser. `npm ci` leaves a copy of the lock file that it installed from beside them.
page_tools=$root_dir/tests/page
page_tools_are_there() { cmp -s "$page_tools/package-lock.json" "$page_tools/node_modules/.installed.json"; }

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() { warn "$*"; exit 1; }

# Points PATH at cargo: under sudo it is the calling user's, and rustup must be told where its toolchains are.
find_cargo() {
    command -v cargo >/dev/null && return 0
    local home
    for home in "$HOME" "$([ -n "${SUDO_USER:-}" ] && getent passwd "$SUDO_USER" | cut -d: -f6)" /root /usr/local; do
        [ -n "$home" ] || continue
        local dir=$home/.cargo
        [ "$home" = /usr/local ] && dir=/usr/local/cargo
        if [ -x "$dir/bin/cargo" ]; then
            PATH=$dir/bin:$PATH
            [ -d "$home/.rustup" ] && export RUSTUP_HOME=${RUSTUP_HOME:-$home/.rustup}
            return 0
        fi
    done
    return 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }

# How to become root: "" as root, "sudo" if that works, fails if it can't be done. Asks for a password only on a terminal.
as_root=
can_root() {
    is_root && return 0
    command -v sudo >/dev/null || return 1
    if sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 1 ] && sudo -v; }; then
        as_root=sudo
        return 0
    fi
    return 1
}
