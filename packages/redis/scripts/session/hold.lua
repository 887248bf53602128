--[[ hold.lua: makes `token` the holder of a stream, whoever held it before.

KEYS  session
ARGV  stream, token, lease_until_ms

Returns 'held' | 'gone'.

Settles the race of two connections for one stream: the later one has it, and the earlier is woken and finds that it lost. ]]
local stream, token, lease_until_ms = ARGV[1], ARGV[2], ARGV[3]

if not is_open() then return 'gone' end
redis.call('HSET', session, 'stream:' .. stream, token .. ' ' .. lease_until_ms)
tell()
return 'held'
