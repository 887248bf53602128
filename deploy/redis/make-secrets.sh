#!/bin/sh
# Generates the passwords of this deployment that do not exist yet. They are in volumes mounted only by the containers that need them, and so
# in no environment or command line. To change a password, remove its file and restart everything.
set -eu

# Prints 32 random bytes as 64 letters and digits.
random() {
  head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

# Writes a file atomically, unless it exists.
keep() {
  [ -s "$1" ] && return
  printf '%s' "$2" > "$1.new"
  chmod 444 "$1.new"
  mv "$1.new" "$1"
}

keep /run/parley/redis-password "$(random)"
keep /run/parley/redis-url "redis://:$(cat /run/parley/redis-password)@redis:6379"
keep /run/grafana/password "$(random)"
