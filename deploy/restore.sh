#!/bin/sh
# Puts a backup of deploy/backup.sh in the place of everything that Redis of docker-compose.yml holds. Nobody is served meanwhile. What was
# written after the backup is gone, and tasks continue from where they were then: steps that ran since run again.
#
#   deploy/restore.sh parley.rdb
#
# The data of before stay in the volume as /data/before-restore until the next restore.
set -eu
cd "$(dirname "$0")/.." && here=$PWD && cd "$OLDPWD"
file=${1:?usage: deploy/restore.sh FILE}
# For a Compose that is no plugin of docker: COMPOSE=docker-compose
compose="${COMPOSE:-docker compose} --project-directory $here"

if [ "$(head -c 5 "$file")" != REDIS ]; then
  echo "deploy/restore.sh: $file is no backup of deploy/backup.sh" >&2
  exit 1
fi
$compose stop proxy server worker redis
# Redis reads a snapshot only if it keeps no append-only file. So it is read without one, which then is begun from what was read.
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
