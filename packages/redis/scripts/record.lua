--[[ record.lua: adds entries to the journal and renews the lease; with no entries it only renews.

KEYS  task journal feed due
ARGV  task_id, token, due_at_ms (the new end of the lease), entries (count, then key and entry of each)

Returns 'recorded' | 'refused'.

Settles the race between a worker that was thought dead and the one that took over: only the holder's entries are taken (I5). ]]
local task_id, token, due_at_ms = ARGV[1], ARGV[2], ARGV[3]

local state = held_state(token)
if not state then return 'refused' end

each_group(4, 2, write_entry)
local expired_at_ms = state.expires_at_ms
outlive(state, due_at_ms)
if state.expires_at_ms ~= expired_at_ms then write_state(state) end
redis.call('ZADD', due, due_at_ms, task_id)
expire_together(state)
return 'recorded'
