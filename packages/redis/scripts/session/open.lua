--[[ open.lua: writes a session with its expiry.

KEYS  session
ARGV  session (JSON), level ('': none), ttl_ms

Returns 'opened'.

A single script, so that a front end that dies in the middle leaves no hash without an expiry. ]]
local facts, level, ttl_ms = ARGV[1], ARGV[2], ARGV[3]

redis.call('HSET', session, 'session', facts)
if level ~= '' then redis.call('HSET', session, 'level', level) end
redis.call('PEXPIRE', session, ttl_ms)
return 'opened'
