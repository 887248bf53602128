--[[ remove.lua: removes a grant.

KEYS  grants grant (keep.lua)
ARGV  id, consent ('': any)

Returns `about`, or '' if there is no grant or a later consent has replaced this one. ]]
local consent, about = unpack(redis.call('HMGET', KEYS[2], 'consent', 'about'))
if not consent then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return ''
end
if ARGV[2] ~= '' and ARGV[2] ~= consent then return '' end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return about
