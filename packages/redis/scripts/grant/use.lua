--[[ use.lua: reads a grant and starts its time again.

KEYS  grants grant (keep.lua)
ARGV  id, now_ms, ttl_ms

Returns {consent, tokens, about}, or {} if no grant is kept. ]]
local grants, grant = KEYS[1], KEYS[2]
local consent, tokens, about = unpack(redis.call('HMGET', grant, 'consent', 'tokens', 'about'))
if not consent then return {} end

local now_ms, ttl_ms = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('HSET', grant, 'used_at_ms', ARGV[2])
redis.call('PEXPIRE', grant, ttl_ms)
redis.call('ZADD', grants, now_ms + ttl_ms, ARGV[1])
if redis.call('PTTL', grants) < ttl_ms then redis.call('PEXPIRE', grants, ttl_ms) end
return { consent, tokens, about }
