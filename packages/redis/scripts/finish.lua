--[[ finish.lua: ends the run and the task with its outcome.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, status, fields (count, then name and value of each; the outcome is one of them),
      entries (count, then key and entry of each)

Returns 'finished' | 'refused'.

Settles the race between a result and a cancellation: whichever script runs first clears the token, and the other is refused (I1, I5).
From here the task lives as long as it is retained and no longer, whatever it waited for before. ]]
local task_id, token, now_ms, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local state = held_state(token)
if not state then return 'refused' end

local at = each_group(5, 2, write_field)
each_group(at, 2, write_entry)
close_asks()
state.status = status
state.token = nil
state.expires_at_ms = string.format('%.0f', now_ms + state.retention_ms)
tell(state, now_ms)
write_state(state)
redis.call('ZREM', due, task_id)
expire_together(state)
return 'finished'
