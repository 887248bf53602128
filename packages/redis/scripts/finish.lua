--[[ finish.lua: ends the run and the task with its outcome.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, status, fields (count, then name and value of each; the outcome is one of them),
      entries (count, then key and entry, or place alone, of each), owes ('' or why the task has to be compensated);
      only for a child: answer (to its parent's call: `mark outcome`), too_large (the answer if the parent has no room for that one),
      told_max (how much its children together may tell a parent)

Returns 'finished' | 'refused', or {parent, its run that is due} for the end of a child.

Settles the race between a result and a cancellation: the script that runs first clears the token, and the other one is refused (I1, I5).
The retention of the task begins here, however long it waited before. ]]
local task_id, token, now_ms, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local state = held_state(token)
if not state or is_finished(state) then return 'refused' end -- I1

local link = is_child() and read_link()
redis.call('HDEL', task, 'message') -- what it said while it worked or waited
local at = each_group(5, 2, write_field)
local after = write_entries(at, now_ms)
end_task(state, task_id, status, now_ms, ARGV[after] ~= '' and ARGV[after] or nil)
if link then return answer_parent(link, ARGV[after + 1], now_ms, ARGV[after + 2], ARGV[after + 3]) or 'finished' end
return 'finished'
