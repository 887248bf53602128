--[[ finish.lua: ends the run and the task with its outcome.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, status, fields (count, then name and value of each; the outcome is one of them),
      entries (count, then key and entry, or place alone, of each)

Returns 'finished' | 'refused'.

Settles the race between a result and a cancellation: whichever script runs first clears the token, and the other is refused (I1, I5).
From here the task lives as long as it is retained and no longer, whatever it waited for before. ]]
local task_id, token, now_ms, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local state = held_state(token)
if not state then return 'refused' end

local at = each_group(5, 2, write_field)
write_entries(at)
end_task(state, task_id, status, now_ms)
return 'finished'
