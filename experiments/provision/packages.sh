#!/bin/sh
# Installs the Debian packages that are missing of those named, and says how many these were.
set -e
changed=0
for package in "$@"; do
    if [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$package"
        changed=$((changed + 1))
    fi
done
echo "changed=$changed"
