--[[ touch.lua: reads a session and extends its expiry.

KEYS  session
ARGV  ttl_ms, begins_with: how the facts of the caller's sessions begin, up to the end of their owner; empty for any owner

Returns {session, level}; both nil if the session is gone or belongs to someone else.

Ownership is compared here, because a caller who learned the id of a foreign session could otherwise keep it from expiring. No race is settled:
PEXPIRE revives nothing. Every request of a session begins with this script; as one command it costs a front end half of what two
commands would.]]
local ttl_ms, begins_with = ARGV[1], ARGV[2]

local found = redis.call('HMGET', session, 'session', 'level')
if found[1] and string.sub(found[1], 1, #begins_with) ~= begins_with then return { false, false } end
redis.call('PEXPIRE', session, ttl_ms)
return found
