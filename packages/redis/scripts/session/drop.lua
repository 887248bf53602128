--[[ drop.lua: gives a stream up.

KEYS  session
ARGV  stream, token

Returns 'dropped' | 'lost'.

Settles the race with a connection that took the stream over: a holder that was replaced does not drop it for the new one. The stream's
questions stay its own until another stream claims them: who comes back to the stream finds them where they were. ]]
local stream, token = ARGV[1], ARGV[2]

if hold_of(stream) ~= token then return 'lost' end
redis.call('HDEL', session, 'stream:' .. stream)
tell()
return 'dropped'
