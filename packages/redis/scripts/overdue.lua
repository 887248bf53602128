--[[ overdue.lua: the runs of one partition that should have begun and did not, oldest first.

KEYS  due (as the fourth, like everywhere)
ARGV  now_ms, limit, task_key_prefix (put before a task id it gives the key of the task's hash; same hash tag, same slot)

Returns {task_id, run, task_id, run, …}.

Nothing is taken out of the set but tasks that are gone: a sweep that dies after this script has lost nothing, and two sweeps at once
name the same runs, which are the same jobs. ]]
local now_ms, limit, task_key_prefix = ARGV[1], ARGV[2], ARGV[3]

local runs = {}
for _, task_id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, limit)) do
  local state = read_state(task_key_prefix .. task_id)
  if not state or is_finished(state) and redis.call('HEXISTS', task_key_prefix .. task_id, 'owed') == 0 then
    redis.call('ZREM', due, task_id)
  else
    runs[#runs + 1] = task_id
    runs[#runs + 1] = state.token and state.run or state.run + 1
  end
end
return runs
