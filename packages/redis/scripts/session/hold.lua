--[[ hold.lua: makes `token` the holder of a stream, even if another one holds it.

KEYS  session
ARGV  stream, token, now_ms, lease_until_ms, after (the number of the last event that the stream's client has read), most

Returns {'held', ask, refusals, ask, refusals, …} with the questions that are on the stream | {'full'} | {'gone'}.

Settles the race of two connections for one stream: the later one has it, and the earlier one is woken and finds that it lost the stream.
Questions that were asked after the event `after` did not arrive. They are removed from the stream here, once, because a later connection
could no longer tell what this one had not read. Expired holds are removed when there are too many.

The hash is read at once: with one command for each of two thousand questions, Redis served no one else for five milliseconds. ]]
local stream, token, now_ms, lease_until_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local after, most = tonumber(ARGV[5]), tonumber(ARGV[6])

if not is_open() then return { 'gone' } end
local living, dead, unread, held = 0, {}, {}, { 'held' }
local fields = redis.call('HGETALL', session)
for i = 1, #fields, 2 do
  local field, value = fields[i], fields[i + 1]
  if string.sub(field, 1, 7) == 'stream:' and field ~= 'stream:' .. stream then
    local _, until_ms = read_hold(value)
    if until_ms > now_ms then living = living + 1 else dead[#dead + 1] = field end
  elseif string.sub(field, 1, 6) == 'asked:' then
    local event, refusals, on = read_claim(value)
    if on == stream and event > after then
      unread[#unread + 1] = field
    elseif on == stream then
      held[#held + 1] = string.sub(field, 7)
      held[#held + 1] = refusals
    end
  end
end
if living + #dead >= most then
  for _, field in ipairs(dead) do redis.call('HDEL', session, field) end
  if living >= most then return { 'full' } end
end
for _, field in ipairs(unread) do redis.call('HDEL', session, field) end
redis.call('HSET', session, 'stream:' .. stream, token .. ' ' .. lease_until_ms)
tell()
return held
