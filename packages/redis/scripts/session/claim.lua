--[[ claim.lua: decides on which of a session's streams a question is asked.

KEYS  session
ARGV  ask (<task id>:<key>), stream, token, refusals, event, now_ms, most

Returns 'claimed' | 'put' | 'elsewhere' | 'full'.

Settles the race of two streams for one question: the first one has it for as long as it is held. A stream that was dropped, or whose holder
let the lease run out, loses the question to the next stream that claims it. A holder that was replaced claims nothing: its client would
never see the question, and the new holder would believe that it has. In a session that is gone nothing is asked.]]
local ask, stream, token, refusals = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local event, now_ms, most = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

if not is_open() or hold_of(stream) ~= token then return 'elsewhere' end
local claim = redis.call('HGET', session, 'asked:' .. ask)
local event_before, refusals_before, on
if claim then event_before, refusals_before, on = read_claim(claim) end
if on == stream then
  -- With the same event, this claim was sent twice, as client libraries do after a lost connection.
  if refusals_before == refusals then return event_before == event and 'claimed' or 'put' end
elseif on then
  local _, until_ms = hold_of(on)
  if until_ms and until_ms > now_ms then return 'elsewhere' end
elseif not has_room('asked:', most) then
  return 'full'
end
redis.call('HSET', session, 'asked:' .. ask, ARGV[5] .. ' ' .. refusals .. ' ' .. stream)
return 'claimed'
