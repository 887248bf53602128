--[[ remove.lua: removes a grant.

KEYS  grants grant (keep.lua)
      removed   hash   consent, tokens, about of what this command has removed; expires soon
ARGV  id, consent ('': any), removed_ms

Returns {consent, tokens, about}, or {} if there is no grant or a later consent has replaced this one. A record that lacks one
of these is damaged: it is removed, and {} returned.

`removed` is for this command alone. If it is sent again because its reply was lost, it returns what it has removed: the caller notes who
removed the grant, and ends it at its provider. ]]
local grants, grant, removed = KEYS[1], KEYS[2], KEYS[3]
local consent, tokens, about = unpack(redis.call('HMGET', removed, 'consent', 'tokens', 'about'))
if consent then return { consent, tokens, about } end

consent, tokens, about = unpack(redis.call('HMGET', grant, 'consent', 'tokens', 'about'))
local is_whole = consent and tokens and about
if is_whole and ARGV[2] ~= '' and ARGV[2] ~= consent then return {} end
redis.call('DEL', grant)
redis.call('ZREM', grants, ARGV[1])
if not is_whole then return {} end

redis.call('HSET', removed, 'consent', consent, 'tokens', tokens, 'about', about)
redis.call('PEXPIRE', removed, ARGV[3])
return { consent, tokens, about }
