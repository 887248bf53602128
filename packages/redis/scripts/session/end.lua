--[[ end.lua: takes a stream from its holder, because the client has cancelled the request.

KEYS  session
ARGV  stream, heir (another stream), now_ms

Returns 'ended' | 'none'.

The client has the questions of the stream, and may still answer them. If the heir is held they become its own, as questions that were already sent;
otherwise the next stream that claims them sends them again. ]]
local stream, heir, now_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('HDEL', session, 'stream:' .. stream) == 0 then return 'none' end
local _, until_ms = hold_of(heir)
if until_ms and until_ms > now_ms then
  local fields = redis.call('HGETALL', session)
  for i = 1, #fields, 2 do
    local field = fields[i]
    if string.sub(field, 1, 6) == 'asked:' then
      local event, refusals, on = read_claim(fields[i + 1])
      if on == stream then redis.call('HSET', session, field, string.format('%.0f', event) .. ' ' .. refusals .. ' ' .. heir) end
    end
  end
end
tell()
return 'ended'
