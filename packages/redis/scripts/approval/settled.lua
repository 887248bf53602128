--[[ settled.lua: counts how a call that waited for approval went on, once.

KEYS  open day (asked.lua)
ARGV  rule, task_id, keep_ms, people_max, number of counts, their names, and for each person who decided: the name of the count, and the
      name of that of all others

Returns 'settled' | 'unknown'. ZREM is the claim: a worker that dies before it has recorded what it counted counts again. ]]
local open, day = KEYS[1], KEYS[2]
local rule, task_id, keep_ms, people_max, counts = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

if redis.call('ZREM', open, rule .. ' ' .. task_id) == 0 then return 'unknown' end
for i = 6, 5 + counts do redis.call('HINCRBY', day, ARGV[i], 1) end
for i = 6 + counts, #ARGV, 2 do
  local name = ARGV[i]
  if redis.call('HEXISTS', day, name) == 0 then
    -- No rule has the name `-`.
    local people = tonumber(redis.call('HGET', day, '- people') or 0)
    if people >= people_max then name = ARGV[i + 1] else redis.call('HINCRBY', day, '- people', 1) end
  end
  redis.call('HINCRBY', day, name, 1)
end
redis.call('PEXPIRE', day, keep_ms)
return 'settled'
