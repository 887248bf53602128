#!/bin/sh
# Writes everything that Redis of docker-compose.yml holds into a file, while it serves: tasks, answers, sessions, the queue.
#
#   deploy/backup.sh parley.rdb
#
# The file is an RDB snapshot of one moment, and is there whole or not at all. It holds what people answered: keep it as you keep that.
set -eu
cd "$(dirname "$0")/.." && here=$PWD && cd "$OLDPWD"
file=${1:?usage: deploy/backup.sh FILE}
# For a Compose that is no plugin of docker: COMPOSE=docker-compose
compose="${COMPOSE:-docker compose} --project-directory $here"

umask 077
trap 'rm -f "$file.part"' EXIT
$compose exec -T redis sh -c 'REDISCLI_AUTH=$(cat /run/parley/redis-password) redis-cli --rdb -' > "$file.part"
if [ "$(head -c 5 "$file.part")" != REDIS ]; then
  echo "deploy/backup.sh: Redis sent no snapshot" >&2
  exit 1
fi
mv "$file.part" "$file"
