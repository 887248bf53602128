--[[ settle.lua: ends the compensation of a task, whether it succeeded or was given up.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, entries (count, then key and entry, or place alone, of each)

Returns 'settled' | 'refused'.

Clients saw the end of the task long ago and see nothing of this (I1). From now on the task expires like any other, at once if its retention
is over.]]
local task_id, token, now_ms = ARGV[1], ARGV[2], ARGV[3]

local state = held_state(token)
local owed = state and owed_state()
if not owed or owed.is_stopping then return 'refused' end

write_entries(4, now_ms)
state.token = nil
redis.call('HDEL', task, 'owed')
write_state(state)
forget_task(state, task_id, now_ms)
return 'settled'
