--[[ add.lua: adds one field of a kind that a session may have only so many of.

KEYS  session
ARGV  kind ('uri:', 'task:' or 'call:'), name, most, value ('' for a field whose presence is all that counts: adding it wakes the watchers)

Returns 'added' (also if the field existed) | 'full' | 'gone'.

Settles the race of two requests for the last free field, and the race with the end of the session. ]]
local kind, name, most, value = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if not is_open() then return 'gone' end
local field = kind .. name
if redis.call('HEXISTS', session, field) == 1 then
  if value ~= '' then redis.call('HSET', session, field, value) end
  return 'added'
end
-- Fields are counted only if there could be too many of this kind. Few sessions ever have that many fields of all kinds together.
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
