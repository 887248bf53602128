--[[ use.lua: spends one use of a standing approval.

KEYS  standing approval (grant.lua)
ARGV  task_id, now_ms

Returns {about, left}, or {} if it does not let the call pass. Of two calls at once with one use left, one finds it. A task that has used it
may use it again: its worker died before it recorded that. ]]
local approval = KEYS[2]
local about, left, until_ms = unpack(redis.call('HMGET', approval, 'about', 'left', 'until_ms'))
if not about or tonumber(until_ms) <= tonumber(ARGV[2]) then return {} end
local used = 'task ' .. ARGV[1]
if redis.call('HEXISTS', approval, used) == 1 then return { about, tonumber(left) } end
if tonumber(left) < 1 then return {} end
redis.call('HSET', approval, used, '')
return { about, redis.call('HINCRBY', approval, 'left', -1) }
