#!/bin/sh
# Replaces the containers of a service of docker-compose.yml one after another. A new one is healthy before an old one is told to end, so
# there are never fewer than before; `docker compose up` alone would stop them all at once.
#
#   docker compose build && deploy/roll.sh server && deploy/roll.sh worker
#
# A new one that ends, or is not healthy within ROLL_TIMEOUT seconds (120), is removed after its log was shown. The old ones continue, and the
# exit code is 1. To go back, roll the version before: PARLEY_VERSION=… deploy/roll.sh server.
set -eu
cd "$(dirname "$0")/.."
service=${1:?usage: deploy/roll.sh server|worker}
timeout=${ROLL_TIMEOUT:-120}
# For a Compose that is no plugin of docker: COMPOSE=docker-compose
compose=${COMPOSE:-docker compose}

# running healthy 0: state, health, how often it was started again.
look() {
  docker inspect -f '{{.State.Status}} {{.State.Health.Status}} {{.RestartCount}}' "$1"
}
# Those that a roll left behind that was killed itself: they ended, or end again and again.
is_broken() {
  case $(look "$1") in
    "running "*" 0" | "running healthy "*) return 1 ;;
    *) return 0 ;;
  esac
}
remove() {
  echo "deploy/roll.sh: $service is removed, it does not become healthy. It said last:" >&2
  docker logs --tail 20 "$1" >&2 || true
  docker rm -f "$1" > /dev/null
}
# Of the first list those that are not in the second.
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
