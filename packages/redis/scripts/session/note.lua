--[[ note.lua: sets one field of an open session.

KEYS  session
ARGV  field, value

Returns 'noted' | 'gone'.

Settles the race with the end of the session: a field that comes later is dropped. ]]
if not is_open() then return 'gone' end
redis.call('HSET', session, ARGV[1], ARGV[2])
return 'noted'
