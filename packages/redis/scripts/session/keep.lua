--[[ keep.lua: keeps a stream for another lease.

KEYS  session
ARGV  stream, token, lease_until_ms

Returns 'kept' | 'lost'.

Settles the race with a connection that takes the stream over: a holder that was replaced cannot take it back by keeping it. One whose
lease ran out keeps the stream if nobody took it meanwhile. ]]
local stream, token, lease_until_ms = ARGV[1], ARGV[2], ARGV[3]

if hold_of(stream) ~= token then return 'lost' end
redis.call('HSET', session, 'stream:' .. stream, token .. ' ' .. lease_until_ms)
return 'kept'
