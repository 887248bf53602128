--[[ release.lua: gives back a run whose handler never started.

KEYS  task journal feed due
ARGV  task_id, token, now_ms

Returns 'released' | 'refused'.

The worker is alive, so the next `begin` must not count a takeover: several in a row fail the task as poisoned. The task stays due at the
end of the lease, unless an answer arrived in the meantime, which added no run. If no other run has begun, the journal holds only the opening
(begin.lua). It is removed because it was not used. A task that was cancelled in the meantime keeps everything for its compensation: the end
has reset the takeovers, which no longer tell whether another run has begun.]]
local task_id, token, now_ms = ARGV[1], ARGV[2], ARGV[3]

local state = held_state(token)
if not state then return 'refused' end
local answered = state.answers > 0
state.token = nil
write_state(state)
if state.run == 1 and state.takeovers == 0 and not owed_state() then
  for _, key in ipairs(redis.call('HKEYS', journal)) do
    -- The hash also holds large arguments, whose field names have no colon.
    if string.find(key, ':', 1, true) then redis.call('HDEL', journal, key) end
  end
end
if answered then redis.call('ZADD', due, now_ms, task_id) end
return 'released'
