--[[ give.lua: returns a slot of a tool's limit.

KEYS  held line facts (see limit.lua)
ARGV  task_id, token (of the run), now_ms, concurrency (0: unlimited), count (0: unlimited) and window_ms of the rate, patience_ms

Returns {task_id, run, …}: the tasks whose turn it is now. They stay in line until they take their slot, and lose their place if they do
not.]]
local task_id, token, now_ms, concurrency = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local count, window_ms, patience_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

if not is_of_other(task_id, token) then let_go(task_id) end
-- Tasks that wait only for the rate already know when to return.
if concurrency == 0 then return {} end

local free = free_slots(now_ms, concurrency)
if free < 1 then return {} end
drop_absent(now_ms)
local tokens = tokens_at(now_ms, count, window_ms)
local told = {}
for _, next_id in ipairs(redis.call('ZRANGE', line, 0, math.min(free, 100) - 1)) do
  if count > 0 and tonumber(redis.call('ZSCORE', line, next_id)) >= NEW then
    if tokens < 1 then break end
    tokens = tokens - 1
  end
  local run = string.match(redis.call('HGET', facts, next_id) or '', '^(%d+) ')
  if run then
    redis.call('HSET', facts, next_id, string.format('%s %.0f', run, now_ms + patience_ms))
    told[#told + 1] = next_id
    told[#told + 1] = tonumber(run)
  end
end
return told
