--[[ asked.lua: counts a call that waits for approval, once.

KEYS  open   sorted set  `<rule> <task id>` of calls that wait, by when (ms) they were asked
      day    hash        what was counted on that day
ARGV  rule, task_id, asked_at_ms, keep_ms, open_max

Returns 'asked' | 'known'. A worker that dies before it has recorded its question asks again. ]]
local open, day = KEYS[1], KEYS[2]
local rule, task_id, asked_at_ms, keep_ms, open_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

redis.call('ZREMRANGEBYSCORE', open, '-inf', asked_at_ms - keep_ms)
local member = rule .. ' ' .. task_id
if redis.call('ZSCORE', open, member) then return 'known' end
if redis.call('ZCARD', open) >= open_max then redis.call('ZPOPMIN', open) end
redis.call('ZADD', open, asked_at_ms, member)
redis.call('HINCRBY', day, rule .. ' asked', 1)
redis.call('PEXPIRE', open, keep_ms)
redis.call('PEXPIRE', day, keep_ms)
return 'asked'
