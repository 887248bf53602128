--[[ keep.lua: keeps a grant for its owner, in place of an earlier one for the same purpose.

KEYS  grants  sorted set   the owner's grants, by the time at which they end; expires with the last of them
      grant   hash         consent, tokens (sealed), secret_id, about, kept_at_ms, used_at_ms; expires ttl_ms after its last use
ARGV  id, consent, tokens, about, now_ms, ttl_ms, count_max, secret_id (names the secret that has sealed the tokens)

Returns 1, or 0 if this consent is already kept: the command was sent again after its reply was lost, and the tokens may have been renewed
since.

If the owner has `count_max` grants, the one that would end first is deleted. Its key differs only in the id, so it is in the same slot. It is
not among KEYS, because only this script learns which one it is. While the slot moves, this is not even reached: a grant that is not kept yet
has no key, so Redis refuses the script (load-scripts.ts). ]]
local grants, grant = KEYS[1], KEYS[2]
local id, consent, tokens, about, now_ms, ttl_ms, count_max = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if redis.call('HGET', grant, 'consent') == consent then return 0 end

redis.call('ZREMRANGEBYSCORE', grants, '-inf', now_ms)
redis.call('ZREM', grants, id)
while redis.call('ZCARD', grants) >= count_max do
  local first = redis.call('ZRANGE', grants, 0, 0)[1]
  redis.call('ZREM', grants, first)
  redis.call('DEL', grants .. ':' .. first)
end

redis.call('HSET', grant, 'consent', consent, 'tokens', tokens, 'secret_id', ARGV[8], 'about', about, 'kept_at_ms', ARGV[5], 'used_at_ms', ARGV[5])
redis.call('PEXPIRE', grant, ttl_ms)
redis.call('ZADD', grants, now_ms + ttl_ms, id)
if redis.call('PTTL', grants) < ttl_ms then redis.call('PEXPIRE', grants, ttl_ms) end
return 1
