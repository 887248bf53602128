--[[ release.lua: gives back a run whose handler never started.

KEYS  task journal feed due
ARGV  task_id, token, now_ms

Returns 'released' | 'refused'.

The worker lives, so the next `begin` must not count a takeover: enough of those fail the task as poisoned. The due time stays at the end of the lease,
unless an answer came meanwhile, which added no run. ]]
local task_id, token, now_ms = ARGV[1], ARGV[2], ARGV[3]

local state = held_state(token)
if not state then return 'refused' end
local answered = state.answers > 0
state.token = nil
write_state(state)
if answered then redis.call('ZADD', due, now_ms, task_id) end
return 'released'
