#!/bin/sh
# Replaces all data in the Redis of docker-compose.yml with a backup made by deploy/backup.sh. The deployment serves no requests in the
# meantime. Everything written after the backup is lost, and tasks continue from the state in the backup: steps that ran since then run again.
#
#   deploy/restore.sh parley.rdb
#
# The previous data stays in the volume as /data/before-restore until the next restore.
set -eu
cd "$(dirname "$0")/.." && here=$PWD && cd "$OLDPWD"
file=${1:?usage: deploy/restore.sh FILE}
# If Compose is not a Docker plugin: COMPOSE=docker-compose
compose="${COMPOSE:-docker compose} --project-directory $here"

if [ "$(head -c 5 "$file")" != REDIS ]; then
  echo "deploy/restore.sh: $file is not a backup made by deploy/backup.sh" >&2
  exit 1
fi
$compose stop proxy server worker redis
# Redis loads a snapshot only if the append-only file is off. So it starts without one, loads the snapshot, and then rewrites it as a new
# append-only file.
$compose run --rm --no-deps -T redis sh -euc '
  rm -rf /data/before-restore /data/restore.rdb
  cat > /data/restore.rdb
  mkdir /data/before-restore
  for old in /data/appendonlydir /data/dump.rdb; do [ ! -e "$old" ] || mv "$old" /data/before-restore; done
  redis-server --dir /data --dbfilename restore.rdb --save "" --port 0 --unixsocket /tmp/restore.sock --daemonize yes > /dev/null
  ask() { redis-cli -s /tmp/restore.sock "$@"; }
  field() { ask info persistence | tr -d "\r" | sed -n "s/^$1://p"; }
  until [ "$(field loading)" = 0 ]; do sleep 0.2; done
  ask config set appendonly yes > /dev/null
  until [ "$(field aof_rewrite_in_progress)$(field aof_rewrite_scheduled)" = 00 ]; do sleep 0.2; done
  [ "$(field aof_last_bgrewrite_status)" = ok ]
  echo "$(ask dbsize) keys restored"
  ask shutdown nosave || true
  rm /data/restore.rdb
' < "$file"
$compose up -d --no-build --no-recreate --wait redis server worker proxy
