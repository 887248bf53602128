#!/bin/sh
# Backs up the Redis of docker-compose.yml to a file without stopping it: tasks, answers, sessions, the queue.
#
#   deploy/backup.sh parley.rdb
#
# The file is a point-in-time RDB snapshot. It appears under its name only when it is complete. It contains people's answers: protect it
# accordingly.
set -eu
cd "$(dirname "$0")/.." && here=$PWD && cd "$OLDPWD"
file=${1:?usage: deploy/backup.sh FILE}
# If Compose is not a Docker plugin: COMPOSE=docker-compose
compose="${COMPOSE:-docker compose} --project-directory $here"

umask 077
trap 'rm -f "$file.part"' EXIT
$compose exec -T redis sh -c 'REDISCLI_AUTH=$(cat /run/parley/redis-password) redis-cli --rdb -' > "$file.part"
if [ "$(head -c 5 "$file.part")" != REDIS ]; then
  echo "deploy/backup.sh: Redis sent no snapshot" >&2
  exit 1
fi
mv "$file.part" "$file"
