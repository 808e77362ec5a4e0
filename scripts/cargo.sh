#!/bin/bash
# cargo, wherever it is.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
find_cargo || die "cargo: not found; see 'make rust'"
cd "$root_dir"
exec cargo "$@"
