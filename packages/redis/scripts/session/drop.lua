--[[ drop.lua: gives up a stream.

KEYS  session
ARGV  stream, token

Returns 'dropped' | 'lost'.

Settles the race with a connection that takes over the stream: a holder that was replaced does not drop the stream of the new one. The
questions stay with the stream until another stream claims them, so a client that returns to it finds them where they were. ]]
local stream, token = ARGV[1], ARGV[2]

if hold_of(stream) ~= token then return 'lost' end
redis.call('HDEL', session, 'stream:' .. stream)
tell()
return 'dropped'
