#!/bin/sh
# Replaces the containers of a service of docker-compose.yml one after another. A new one is healthy before an old one is told to end, so
# there are never fewer than before; `docker compose up` alone would stop them all at once.
#
#   docker compose build && deploy/roll.sh server && deploy/roll.sh worker
set -eu
cd "$(dirname "$0")/.."
service=$1
# For a Compose that is no plugin of docker: COMPOSE=docker-compose
compose=${COMPOSE:-docker compose}

for old in $($compose ps -q "$service"); do
  count=$($compose ps -q "$service" | wc -l)
  $compose up -d --no-deps --no-recreate --no-build --wait --scale "$service=$((count + 1))" "$service"
  docker stop "$old" >/dev/null
  docker rm "$old" >/dev/null
done
