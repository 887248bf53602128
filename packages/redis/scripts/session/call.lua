--[[ call.lua: notes the task of a call.

KEYS  session
ARGV  call, task_id, most

Returns 'noted' | 'cancelled' | 'full' | 'gone'.

Settles the race with cancel.lua: either the cancellation finds the task that is noted here, or this finds the cancellation. Also settles the
race of two calls for the last place, and the race with the end of the session. ]]
local call, task_id, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

if not is_open() then return 'gone' end
local noted = redis.call('HGET', session, 'call:' .. call)
-- Left where it is: this may be sent twice, as client libraries do after a lost connection.
if noted == CANCELLED then return 'cancelled' end
if not noted and not has_room('call:', most) then return 'full' end
redis.call('HSET', session, 'call:' .. call, task_id)
return 'noted'
