#!/bin/sh
# Starts Redis with its password, and limits its data to a share of the container's memory.
set -eu

# cgroup v2, or else v1.
limit=$(cat /sys/fs/cgroup/memory.max 2> /dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes)
case $limit in
  max | ???????????????*)
    echo "redis: the container has no memory limit; set REDIS_MEMORY" >&2
    exit 1
    ;;
esac

umask 077
{
  echo "requirepass $(cat /run/parley/redis-password)"
  # Rewriting the append-only file forks a copy, which can grow as large as the data. 40 % leaves room for both and for fragmentation. With a
  # higher limit the kernel would kill Redis before Redis refuses a write.
  echo "maxmemory $((limit / 10 * 4))"
} > /tmp/own.conf
exec redis-server /usr/local/etc/redis/redis.conf
