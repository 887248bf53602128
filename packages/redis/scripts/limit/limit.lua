--[[ limit.lua: what the scripts of a tool's limit share; loaded in front of each of them.

KEYS  held   zset   task -> time until which its slot is leased
      line   zset   waiting task -> when it was created, plus 1e13 if it has not begun: tasks that have begun come first
      facts  hash   waiting task -> "run until_ms"; ':' and a task in `held` -> token of the run that took its slot last;
                    ':bucket' -> "tokens at_ms"

A waiting task is in both `line` and `facts`, or in neither. ]]
local held, line, facts = KEYS[1], KEYS[2], KEYS[3]
local NEW = 1e13

local function leave(task_id)
  redis.call('ZREM', line, task_id)
  redis.call('HDEL', facts, task_id)
end

-- Removes tasks near the front of the line that did not take their slot in time. Tasks further back are removed when they get near.
local function drop_absent(now_ms, except)
  for _, task_id in ipairs(redis.call('ZRANGE', line, 0, 99)) do
    local until_ms = string.match(redis.call('HGET', facts, task_id) or '', ' (%d+)$')
    if task_id ~= except and (not until_ms or tonumber(until_ms) < now_ms) then leave(task_id) end
  end
end

local function tokens_at(now_ms, count, window_ms)
  if count == 0 then return math.huge end
  local tokens, at_ms = string.match(redis.call('HGET', facts, ':bucket') or '', '^(%S+) (%S+)$')
  if not tokens then return count end
  return math.min(count, tonumber(tokens) + math.max(0, now_ms - tonumber(at_ms)) * count / window_ms)
end

local function hold(task_id, token, until_ms)
  redis.call('ZADD', held, until_ms, task_id)
  redis.call('HSET', facts, ':' .. task_id, token)
end

local function let_go(task_id)
  redis.call('ZREM', held, task_id)
  redis.call('HDEL', facts, ':' .. task_id)
end

-- Whether another run of the task has taken its slot since. The run that asks has lost the task, and may still be ending.
local function is_of_other(task_id, token)
  local holder = redis.call('HGET', facts, ':' .. task_id)
  return holder and holder ~= token
end

local function free_slots(now_ms, concurrency)
  for _, task_id in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now_ms)) do let_go(task_id) end
  if concurrency == 0 then return math.huge end
  return concurrency - redis.call('ZCARD', held)
end

-- Keeps the keys until the bucket would be full, and until every task in line has either come or is considered absent.
local function keep_for(ms)
  for _, key in ipairs({ held, line, facts }) do
    if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
  end
end
