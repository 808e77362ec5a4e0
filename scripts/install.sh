#!/bin/bash
# Copies the program, its man pages and completions below a prefix.
#   install.sh PREFIX [PROGRAM]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
prefix=${1:?usage: install.sh PREFIX [PROGRAM]}
cd "$root_dir"
install -D -m 0755 "${2:-$binary}" "$prefix/bin/diskproof"
install -d "$prefix/share/man/man1"
install -m 0644 man/*.1 "$prefix/share/man/man1/"
install -D -m 0644 completions/diskproof.bash "$prefix/share/bash-completion/completions/diskproof"
install -D -m 0644 completions/_diskproof "$prefix/share/zsh/site-functions/_diskproof"
install -D -m 0644 completions/diskproof.fish "$prefix/share/fish/vendor_completions.d/diskproof.fish"
