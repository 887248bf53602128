#!/bin/sh
# Succeeds if Redis has loaded its data and answers.
REDISCLI_AUTH=$(cat /run/parley/redis-password) redis-cli ping | grep -q PONG
