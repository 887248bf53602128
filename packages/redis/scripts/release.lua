--[[ release.lua: gives back a run whose handler never started.

KEYS  task journal feed due
ARGV  task_id, token, now_ms

Returns 'released' | 'refused'.

The worker is alive, so the next `begin` must not count a takeover: several in a row fail the task as poisoned. The task stays due at the
end of the lease, unless an answer arrived in the meantime, which added no run.]]
local task_id, token, now_ms = ARGV[1], ARGV[2], ARGV[3]

local state = held_state(token)
if not state then return 'refused' end
local answered = state.answers > 0
state.token = nil
write_state(state)
if answered then redis.call('ZADD', due, now_ms, task_id) end
return 'released'
