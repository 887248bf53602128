--[[ remove.lua: removes a grant.

KEYS  grants grant (keep.lua)
ARGV  id, consent ('': any)

Returns {consent, tokens, about}, or {} if there is no grant or a later consent has replaced this one. ]]
local consent, tokens, about = unpack(redis.call('HMGET', KEYS[2], 'consent', 'tokens', 'about'))
if not consent then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return {}
end
if ARGV[2] ~= '' and ARGV[2] ~= consent then return {} end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return { consent, tokens, about }
