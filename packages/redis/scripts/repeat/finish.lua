--[[ finish.lua: keeps the reply to a request with an idempotency key, or forgets the request.

KEYS  repeats   hash   as in begin.lua
ARGV  key, fingerprint, now_ms, kept_ms, reply ('': the request is forgotten)

A request whose lease ran out, and whose key another request took, changes nothing. ]]
local key, fingerprint, now_ms, kept_ms, reply = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local known = redis.call('HGET', KEYS[1], key)
if not known or string.match(known, '^%d+ %d+ (%S+) ') ~= fingerprint then return 0 end
if reply == '' then return redis.call('HDEL', KEYS[1], key) end
redis.call('HSET', KEYS[1], key, string.format('%s %d %s %s', string.match(known, '^%d+'), now_ms + kept_ms, fingerprint, reply))
redis.call('PEXPIRE', KEYS[1], kept_ms)
return 1
