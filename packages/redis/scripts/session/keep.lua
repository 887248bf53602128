--[[ keep.lua: renews the lease of a stream.

KEYS  session
ARGV  stream, token, lease_until_ms

Returns 'kept' | 'lost'.

Settles the race with a connection that takes over the stream: a holder that was replaced cannot get it back by renewing. A holder whose
lease ran out keeps the stream if no other connection has taken it.]]
local stream, token, lease_until_ms = ARGV[1], ARGV[2], ARGV[3]

if hold_of(stream) ~= token then return 'lost' end
redis.call('HSET', session, 'stream:' .. stream, token .. ' ' .. lease_until_ms)
return 'kept'
