--[[ touch.lua: reads a session and extends its expiry.

KEYS  session
ARGV  ttl_ms

Returns {session, level}; both nil if the session is gone.

No race is settled here, because PEXPIRE revives nothing. Every request of a session begins with this script; as one command it costs a
front end half of what two commands would.]]
local found = redis.call('HMGET', session, 'session', 'level')
redis.call('PEXPIRE', session, ARGV[1])
return found
