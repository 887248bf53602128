#!/bin/sh
# Makes the passwords of this deployment where there are none yet. They are in volumes that only those mount who need them, and so in
# nobody's environment or arguments. To change one: remove its file and start everything anew.
set -eu

# Prints 32 random bytes as 64 letters and digits.
random() {
  head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

# Written whole or not at all.
keep() {
  [ -s "$1" ] && return
  printf '%s' "$2" > "$1.new"
  chmod 444 "$1.new"
  mv "$1.new" "$1"
}

keep /run/parley/redis-password "$(random)"
keep /run/parley/redis-url "redis://:$(cat /run/parley/redis-password)@redis:6379"
keep /run/grafana/password "$(random)"
