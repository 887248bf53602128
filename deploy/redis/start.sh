#!/bin/sh
# Starts Redis with its password, and with the share of its container's memory that data may take.
set -eu

# cgroup 2, else 1.
limit=$(cat /sys/fs/cgroup/memory.max 2> /dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes)
case $limit in
  max | ???????????????*)
    echo "redis: its container has no memory limit; set REDIS_MEMORY" >&2
    exit 1
    ;;
esac

umask 077
{
  echo "requirepass $(cat /run/parley/redis-password)"
  # Rewriting the append-only file forks a copy, which in the worst case becomes as large as the data: two of these and what lies between
  # the pieces fit. With more the kernel would kill Redis before Redis refuses a write.
  echo "maxmemory $((limit / 10 * 4))"
} > /tmp/own.conf
exec redis-server /usr/local/etc/redis/redis.conf
