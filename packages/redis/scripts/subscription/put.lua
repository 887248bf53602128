--[[ put.lua: writes a subscription, unless it is new and there are too many. Removes those that have expired.

KEYS  subscriptions   hash     id -> `expires_at_ms owner`, a line feed, the subscription, sealed
      version         string   a number that grows with each change
ARGV  id, owner (a digest), expires_at_ms, subscription, now_ms, own_max, all_max, version_ms

Returns 'kept' | 'own' (too many of this owner) | 'all' ]]
local id, owner, expires_at_ms, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])

local own, live, last_ms, is_known = 0, 0, expires_at_ms, false
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local until_ms, of = string.match(all[at + 1], '^(%d+) (%S+)\n')
  if tonumber(until_ms) <= now_ms then
    redis.call('HDEL', KEYS[1], all[at])
  else
    live = live + 1
    if of == owner then own = own + 1 end
    if all[at] == id then is_known = true end
    last_ms = math.max(last_ms, tonumber(until_ms))
  end
end
if not is_known and own >= tonumber(ARGV[6]) then return 'own' end
if not is_known and live >= tonumber(ARGV[7]) then return 'all' end
redis.call('HSET', KEYS[1], id, string.format('%.0f %s\n%s', expires_at_ms, owner, ARGV[4]))
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last_ms))
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[8])
return 'kept'
