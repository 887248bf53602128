--[[ revoke.lua: ends a standing approval.

KEYS  standing approval (grant.lua)
ARGV  id

Returns 1, or 0 if there is none. ]]
redis.call('DEL', KEYS[2])
return redis.call('ZREM', KEYS[1], ARGV[1])
