--[[ postpone.lua: makes the sweep return later to a task that a worker cannot run.

KEYS  task journal feed due
ARGV  task_id, now_ms, due_at_ms

Returns 'postponed' | 'unchanged'.

Only a task that is due now is moved. A task that a run holds is due at the end of its lease, and one that was answered or taken in the
meantime has a due time of its own; the sweep finds either in time. The task itself does not change.]]
local task_id, now_ms, due_at_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local due_now_ms = redis.call('ZSCORE', due, task_id)
if not due_now_ms or tonumber(due_now_ms) > now_ms then return 'unchanged' end
redis.call('ZADD', due, 'XX', due_at_ms, task_id)
return 'postponed'
