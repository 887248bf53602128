#!/bin/sh
# Replaces the containers of a docker-compose.yml service one after another. It stops an old container only when a new one is healthy, so
# there are never fewer than before; `docker compose up` alone would stop them all at once.
#
#   docker compose build && deploy/roll.sh server && deploy/roll.sh worker
#
# If a new container exits, or is not healthy within ROLL_TIMEOUT seconds (120), its log is shown and it is removed. The old containers keep
# running, and the exit code is 1. To roll back, roll out the previous version: PARLEY_VERSION=… deploy/roll.sh server.
set -eu
cd "$(dirname "$0")/.."
service=${1:?usage: deploy/roll.sh server|worker}
timeout=${ROLL_TIMEOUT:-120}
# If Compose is not a Docker plugin: COMPOSE=docker-compose
compose=${COMPOSE:-docker compose}

# Prints state, health and restart count of a container: "running healthy 0".
look() {
  docker inspect -f '{{.State.Status}} {{.State.Health.Status}} {{.RestartCount}}' "$1"
}
# A roll that was itself killed may leave containers behind that have exited or restart again and again.
is_broken() {
  case $(look "$1") in
    "running "*" 0" | "running healthy "*) return 1 ;;
    *) return 0 ;;
  esac
}
remove() {
  echo "deploy/roll.sh: removing a $service that does not become healthy. The end of its log:" >&2
  docker logs --tail 20 "$1" >&2 || true
  docker rm -f "$1" > /dev/null
}
# Prints the words of the first list that are not in the second.
without() {
  for each in $1; do
    case " $2 " in *" $each "*) ;; *) echo "$each" ;; esac
  done
}
all() {
  echo $($compose ps -a -q "$service")
}

for id in $(all); do
  if is_broken "$id"; then remove "$id"; fi
done
olds=$(all)
if [ -z "$olds" ]; then
  echo "deploy/roll.sh: there is no $service to replace: docker compose up -d $service" >&2
  exit 1
fi

kept=$olds
undo() {
  for id in $(without "$(all)" "$kept"); do remove "$id"; done
}
trap undo EXIT
trap 'exit 1' INT TERM

for old in $olds; do
  $compose up -d --no-deps --no-recreate --no-build --scale "$service=$(($(echo "$kept" | wc -w) + 1))" "$service"
  new=$(without "$(all)" "$kept")
  deadline=$(($(date +%s) + timeout))
  until [ "$(look "$new")" = "running healthy 0" ]; do
    if is_broken "$new" || [ "$(date +%s)" -gt "$deadline" ]; then exit 1; fi
    sleep 0.5
  done
  kept="$kept $new"
  docker stop "$old" > /dev/null
  docker rm "$old" > /dev/null
  kept=$(echo $(without "$kept" "$old"))
done
