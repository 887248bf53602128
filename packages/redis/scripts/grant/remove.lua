--[[ remove.lua: removes a grant.

KEYS  grants grant (keep.lua)
ARGV  id, consent ('': any)

Returns {consent, tokens, about}, or {} if there is no grant or a later consent has replaced this one. A record that lacks one
of these is damaged: it is removed, and {} returned. ]]
local consent, tokens, about = unpack(redis.call('HMGET', KEYS[2], 'consent', 'tokens', 'about'))
local is_whole = consent and tokens and about
if is_whole and ARGV[2] ~= '' and ARGV[2] ~= consent then return {} end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], ARGV[1])
return is_whole and { consent, tokens, about } or {}
