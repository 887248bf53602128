--[[ renew.lua: replaces the tokens of a grant with renewed ones, or with the same ones sealed by a newer secret.

KEYS  grants grant (keep.lua)
ARGV  before (as they are stored), tokens (sealed), secret_id

Returns 1, or 0 if other tokens are stored by now, or the grant is gone. ]]
local before = redis.call('HGET', KEYS[2], 'tokens')
-- The command was sent again after its reply was lost.
if before == ARGV[2] then return 1 end
if before ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'tokens', ARGV[2], 'secret_id', ARGV[3])
return 1
