--[[ add.lua: adds one field of a kind of which a session has at most so many.

KEYS  session
ARGV  kind ('uri:', 'task:' or 'call:'), name, most, value ('' for what is only there or not: adding it wakes the watchers)

Returns 'added' (also when it was there) | 'full' | 'gone'.

Settles the race of two that take the last place, and the race with close. ]]
local kind, name, most, value = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if not is_open() then return 'gone' end
local field = kind .. name
if redis.call('HEXISTS', session, field) == 1 then
  if value ~= '' then redis.call('HSET', session, field, value) end
  return 'added'
end
-- Fields are counted only where there could be too many of this kind: few sessions ever have so many of all kinds together.
if redis.call('HLEN', session) > most then
  local count = 0
  for _, each in ipairs(redis.call('HKEYS', session)) do
    if string.sub(each, 1, #kind) == kind then count = count + 1 end
  end
  if count >= most then return 'full' end
end
redis.call('HSET', session, field, value)
if value == '' then tell() end
return 'added'
