#!/bin/sh
# Replaces all data in the Redis of docker-compose.yml with a backup made by deploy/backup.sh. The deployment serves no requests in the
# meantime. Everything written after the backup is lost, and tasks continue from the state in the backup: steps that ran since then run again.
#
#   deploy/restore.sh parley.rdb
#
# A damaged backup is refused before anything stops. If Redis does not load the backup, the previous data is put back. After a restore it
# stays in the volume as /data/before-restore until the next restore.
set -eu
cd "$(dirname "$0")/.." && here=$PWD && cd "$OLDPWD"
file=${1:?usage: deploy/restore.sh FILE}
# If Compose is not a Docker plugin: COMPOSE=docker-compose
compose="${COMPOSE:-docker compose} --project-directory $here"
beside="$compose run --rm --no-deps -T redis sh -euc"

if [ "$(head -c 5 "$file")" != REDIS ]; then
  echo "deploy/restore.sh: $file is not a backup made by deploy/backup.sh" >&2
  exit 1
fi
if ! $beside '
  cat > /data/restore.rdb
  redis-check-rdb /data/restore.rdb > /tmp/checked || { sed -n "/ERROR/,\$p" /tmp/checked >&2; rm /data/restore.rdb; exit 1; }
' < "$file"; then
  echo "deploy/restore.sh: $file is damaged, or was made by a newer Redis; nothing was changed" >&2
  exit 1
fi

$compose stop proxy server worker redis
# Redis loads a snapshot only if the append-only file is off. So it starts without one, loads the snapshot, and then rewrites it as a new
# append-only file.
restored=yes
$beside '
  server=
  undo() {
    kill $server 2> /dev/null || true
    wait
    cat /tmp/restore.log >&2
    rm -rf /data/appendonlydir /data/restore.rdb
    for old in /data/before-restore/*; do [ ! -e "$old" ] || mv "$old" /data; done
  }
  rm -rf /data/before-restore
  mkdir /data/before-restore
  trap undo EXIT
  trap "exit 1" INT TERM
  for old in /data/appendonlydir /data/dump.rdb; do [ ! -e "$old" ] || mv "$old" /data/before-restore; done
  redis-server --dir /data --dbfilename restore.rdb --save "" --port 0 --unixsocket /tmp/restore.sock > /tmp/restore.log &
  server=$!
  ask() { redis-cli -s /tmp/restore.sock "$@"; }
  field() { ask info persistence 2> /dev/null | tr -d "\r" | sed -n "s/^$1://p"; }
  until [ "$(field loading)" = 0 ]; do sleep 0.2; kill -0 "$server" 2> /dev/null; done
  ask config set appendonly yes > /dev/null
  until [ "$(field aof_rewrite_in_progress)$(field aof_rewrite_scheduled)" = 00 ]; do sleep 0.2; kill -0 "$server" 2> /dev/null; done
  [ "$(field aof_last_bgrewrite_status)" = ok ]
  echo "$(ask dbsize) keys restored"
  trap - EXIT
  ask shutdown nosave || true
  rm /data/restore.rdb
' < /dev/null || restored=no
$compose up -d --no-build --no-recreate --wait redis server worker proxy
if [ "$restored" = no ]; then
  echo "deploy/restore.sh: Redis did not load $file; the previous data is back" >&2
  exit 1
fi
