--[[ claim.lua: settles on which of a session's streams a question is put.

KEYS  session
ARGV  ask (<task id>:<key>), stream, now_ms

Returns 'claimed' | 'own' | 'elsewhere'.

Settles the race of two streams for one question: the first has it as long as it is held. A stream that was given up, or whose holder has
let its lease run out, loses the question to whoever claims it next. In a session that is gone nothing is asked. ]]
local ask, stream, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local field = 'asked:' .. ask

if not is_open() then return 'elsewhere' end
local on = redis.call('HGET', session, field)
if on == stream then return 'own' end
if on then
  local _, until_ms = hold_of(on)
  if until_ms and until_ms > now_ms then return 'elsewhere' end
end
redis.call('HSET', session, field, stream)
return 'claimed'
