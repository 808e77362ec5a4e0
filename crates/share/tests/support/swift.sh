#!/bin/bash
# Runs OpenStack Swift with one account, container and object server, one replica, and version 1 of TempAuth, all on loopback.
# Ends with its parent. Runs in a mount namespace of its own, so that Swift finds its settings in /etc/swift:
#   unshare --mount --pid --fork --kill-child swift.sh FOLDER PROXY_PORT ACCOUNT_PORT CONTAINER_PORT OBJECT_PORT CACHE_PORT
set -euo pipefail
folder=$1 proxy_port=$2
declare -A ports=([account]=$3 [container]=$4 [object]=$5)
cache_port=$6
mkdir -p "$folder/etc" "$folder/devices/d1" "$folder/cache"
mount --make-rprivate /
mount --bind "$folder/etc" /etc/swift
cat >/etc/swift/swift.conf <<END_OF_FILE
[swift-hash]
swift_hash_path_suffix = test
swift_hash_path_prefix = test
[storage-policy:0]
name = one
default = yes
END_OF_FILE
for kind in account container object; do
    cat >"/etc/swift/$kind.conf" <<END_OF_FILE
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${ports[$kind]}
workers = 0
user = root
devices = $folder/devices
mount_check = false
fallocate_reserve = 0
recon_cache_path = $folder/cache
conn_timeout = 60
node_timeout = 60
[pipeline:main]
pipeline = $kind-server
[app:$kind-server]
use = egg:swift#$kind
END_OF_FILE
done
cat >/etc/swift/proxy.conf <<END_OF_FILE
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $proxy_port
workers = 0
user = root
[pipeline:main]
pipeline = catch_errors gatekeeper cache bulk tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
# Swift gives up half a second after it asked for a connection, which a busy machine may need
conn_timeout = 60
node_timeout = 60
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:$cache_port
END_OF_FILE
for filter in catch_errors gatekeeper bulk copy slo dlo; do
    printf '[filter:%s]\nuse = egg:swift#%s\n' "$filter" "$filter" >>/etc/swift/proxy.conf
done
# What swift-ring-builder does by nine calls, in one; Debian's Swift is a package of Debian's Python.
/usr/bin/python3 - "account=${ports[account]}" "container=${ports[container]}" "object=${ports[object]}" <<'END_OF_FILE'
import sys
from swift.common.ring import RingBuilder
for kind, port in (word.split("=") for word in sys.argv[1:]):
    builder = RingBuilder(2, 1, 1)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "d1", "weight": 1.0,
                     "replication_ip": "127.0.0.1", "replication_port": int(port), "meta": ""})
    builder.rebalance()
    builder.get_ring().save(f"/etc/swift/{kind}.ring.gz")
END_OF_FILE
memcached -u root -l 127.0.0.1 -p "$cache_port" &
for kind in account container object proxy; do
    "swift-$kind-server" "/etc/swift/$kind.conf" >"$folder/$kind.log" 2>&1 &
done
wait
