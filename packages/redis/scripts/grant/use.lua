--[[ use.lua: reads a grant and starts its time again.

KEYS  grants grant (keep.lua)
ARGV  id, now_ms, ttl_ms, secret_id of each secret that the process has

Returns {consent, tokens, about, secret_id}, or {} if no grant is kept. `tokens` is '' if another secret has sealed them,
and `secret_id` is '' if an earlier version kept the grant, which did not name the secret. In both cases the grant's time
does not start again: otherwise a grant that nothing opens would stay for as long as it is asked for. ]]
local grants, grant = KEYS[1], KEYS[2]
local consent, tokens, about, secret_id = unpack(redis.call('HMGET', grant, 'consent', 'tokens', 'about', 'secret_id'))
-- A record that lacks a field is damaged, and nothing opens it.
if not (consent and tokens and about) then
  redis.call('DEL', grant)
  redis.call('ZREM', grants, ARGV[1])
  return {}
end
if not secret_id then return { consent, tokens, about, '' } end

local is_ours = false
for i = 4, #ARGV do is_ours = is_ours or ARGV[i] == secret_id end
if not is_ours then return { consent, '', about, secret_id } end

local now_ms, ttl_ms = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('HSET', grant, 'used_at_ms', ARGV[2])
redis.call('PEXPIRE', grant, ttl_ms)
redis.call('ZADD', grants, now_ms + ttl_ms, ARGV[1])
if redis.call('PTTL', grants) < ttl_ms then redis.call('PEXPIRE', grants, ttl_ms) end
return { consent, tokens, about, secret_id }
