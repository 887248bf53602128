--[[ cancel.lua: ends the task as cancelled, whatever a run is doing.

KEYS  task journal feed due
ARGV  task_id, now_ms, message

Returns 'cancelled' | 'finished' | 'unknown'.

A run that is at work is not stopped here: its token is gone, so its next write is refused (I5) and it ends. ]]
local task_id, now_ms, message = ARGV[1], ARGV[2], ARGV[3]

local state = read_state(task)
if not state then return 'unknown' end
if is_finished(state) then return 'finished' end -- I1

close_asks()
write_field('message', message)
state.status = 'cancelled'
state.token = nil
state.expires_at_ms = string.format('%.0f', now_ms + state.retention_ms)
tell(state, now_ms)
write_state(state)
redis.call('ZREM', due, task_id)
expire_together(state)
return 'cancelled'
