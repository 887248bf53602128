--[[ cancel.lua: finds the task of a call that its client cancels. If there is none, notes that the call is cancelled.

KEYS  session
ARGV  call, most

Returns the id of the task | ''.

Settles the race with call.lua. A call that has ended cannot be told from one that has no task yet, so a cancellation that comes too late leaves
a note as well. Such notes are removed when the session is full of calls. ]]
local call, most = ARGV[1], tonumber(ARGV[2])

if not is_open() then return '' end
local noted = redis.call('HGET', session, 'call:' .. call)
if noted and noted ~= CANCELLED then return noted end
if noted or has_room('call:', most) then redis.call('HSET', session, 'call:' .. call, CANCELLED) end
return ''
