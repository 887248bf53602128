--[[ take.lua: takes a slot of a tool's limit for a run, or a place in its line.

KEYS  held line facts (see limit.lua)
ARGV  task_id, token (of the run that takes the slot), next_run, created_at_ms, is_new (1: counts towards the rate), now_ms, lease_ms, concurrency (0: unlimited),
      count (0: unlimited) and window_ms of the rate, in_line_max, retry_max_ms, patience_ms

Returns {'taken'} | {'wait', 'concurrency' | 'rate', retry_ms}.

Settles which of many workers gets the last slot. A run takes one only if more slots are free than tasks are ahead of it, so no run
overtakes another. A task that has begun waits for no token, and therefore not for tasks in front of it that do. A command that is sent
again changes nothing.]]
local task_id, token, run, created_at_ms, is_new = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'
local now_ms, lease_ms, concurrency = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local count, window_ms = tonumber(ARGV[9]), tonumber(ARGV[10])
local in_line_max, retry_max_ms, patience_ms = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])

local for_ms = math.max(2 * (retry_max_ms + patience_ms), window_ms)
local free = free_slots(now_ms, concurrency)
if redis.call('ZSCORE', held, task_id) then
  hold(task_id, token, now_ms + lease_ms)
  keep_for(for_ms)
  return { 'taken' }
end

drop_absent(now_ms, task_id)
if not redis.call('ZSCORE', line, task_id) and redis.call('ZCARD', line) >= in_line_max then
  return { 'wait', concurrency == 0 and 'rate' or 'concurrency', retry_max_ms }
end
redis.call('ZADD', line, created_at_ms + (is_new and NEW or 0), task_id)

local ahead = redis.call('ZRANK', line, task_id)
local is_charged = is_new and count > 0
local tokens = tokens_at(now_ms, count, window_ms)
local lacks = 0
if is_charged then lacks = ahead - redis.call('ZCOUNT', line, '-inf', '(' .. string.format('%.0f', NEW)) + 1 - tokens end

if free > ahead and lacks <= 0 then
  leave(task_id)
  hold(task_id, token, now_ms + lease_ms)
  if is_charged then redis.call('HSET', facts, ':bucket', string.format('%.6f %.0f', tokens - 1, now_ms)) end
  keep_for(for_ms)
  return { 'taken' }
end

local slot_ms, rate_ms = 0, 0
-- Usually give.lua wakes the next in line. This wait covers slots whose worker died, and the further back a task is, the longer it may be.
if free <= ahead then slot_ms = lease_ms * (1 + math.floor((ahead - free) / concurrency)) end
if lacks > 0 then rate_ms = math.ceil(lacks * window_ms / count) end
local retry_ms = math.min(retry_max_ms, math.max(slot_ms, rate_ms))
redis.call('HSET', facts, task_id, string.format('%s %.0f', run, now_ms + retry_ms + patience_ms))
keep_for(for_ms)
return { 'wait', slot_ms > 0 and 'concurrency' or 'rate', retry_ms }
