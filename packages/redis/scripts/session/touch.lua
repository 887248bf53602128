--[[ touch.lua: reads a session and keeps it for another while.

KEYS  session
ARGV  ttl_ms

Returns {session, level}; both nil when the session is gone.

No race is settled here: PEXPIRE revives nothing. Every request of a session begins with this, and as one command it takes half of what the
two take of a front end. ]]
local found = redis.call('HMGET', session, 'session', 'level')
redis.call('PEXPIRE', session, ARGV[1])
return found
