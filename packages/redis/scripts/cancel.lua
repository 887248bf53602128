--[[ cancel.lua: ends the task as cancelled, even while a run is at work.

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  task_id, now_ms, message (sealed; '' if it cannot be), audit_record ('': none), audit_length_max,
      owes ('' unless the task has to be compensated if it ever ran)

Returns 'cancelled' | 'finished' | 'unknown', or {parent, its run that is due} for the end of a child.

A run that is at work is not stopped here. Its next write or renewal is refused or reports the cancellation, and the run ends. Its token is
removed (I5), unless the task has to be compensated: then the run first records what it has in flight. ]]
local task_id, now_ms, message = ARGV[1], ARGV[2], ARGV[3]

local state = read_state(task)
if not state then return 'unknown' end
if is_finished(state) then
  audit(KEYS[5], ARGV[4], ARGV[5], now_ms, 'finished')
  return 'finished' -- I1
end

local link = is_child() and read_link()
if message ~= '' then write_field('message', message) end
-- A task that never ran has done nothing to compensate.
end_task(state, task_id, 'cancelled', now_ms, ARGV[6] ~= '' and state.run > 0 and 'cancelled' or nil)
audit(KEYS[5], ARGV[4], ARGV[5], now_ms, 'cancelled')
if link then return answer_parent(link, '! cancelled', now_ms) or 'cancelled' end
return 'cancelled'
