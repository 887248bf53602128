--[[ grant.lua: keeps an approval for later calls.

KEYS  standing   sorted set   ids of the tenant's standing approvals, by the time (ms) at which they end
      approval   hash         about (JSON), left, until_ms, granted_by (task id); `task <id>`: has used it
ARGV  id, task_id, about, uses, now_ms, until_ms, count_max

Returns 'granted' | 'full'. A worker that dies before it has recorded that it granted grants again: the same task changes nothing, or uses in
between would not count. ]]
local standing, approval = KEYS[1], KEYS[2]
local id, task_id, about, uses, now_ms, until_ms, count_max = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

redis.call('ZREMRANGEBYSCORE', standing, '-inf', now_ms)
if redis.call('HGET', approval, 'granted_by') == task_id then return 'granted' end
if not redis.call('ZSCORE', standing, id) and redis.call('ZCARD', standing) >= count_max then return 'full' end

redis.call('DEL', approval)
redis.call('HSET', approval, 'about', about, 'left', uses, 'until_ms', ARGV[6], 'granted_by', task_id)
redis.call('PEXPIREAT', approval, ARGV[6])
redis.call('ZADD', standing, until_ms, id)
local last = redis.call('ZREVRANGEBYSCORE', standing, '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
redis.call('PEXPIREAT', standing, string.format('%.0f', tonumber(last[2])))
return 'granted'
