--[[ put.lua: keeps what a person has put aside.

KEYS  snoozes   hash   `<task id> <ask key>` -> `until_ms since_ms seen`
ARGV  member, until_ms, since_ms, seen, now_ms, most

Returns 'snoozed' | 'full'.

Settles the race of two windows of one person for the last place. Entries whose time is over go with the next that comes, and the hash with
the last of them. ]]
local snoozes = KEYS[1]
local member, until_ms, now_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5]), tonumber(ARGV[6])

local all, count, last_ms = redis.call('HGETALL', snoozes), 0, until_ms
for at = 1, #all, 2 do
  local ends_ms = tonumber(string.match(all[at + 1], '^%S+'))
  if ends_ms <= now_ms then
    redis.call('HDEL', snoozes, all[at])
  elseif all[at] ~= member then
    count = count + 1
    last_ms = math.max(last_ms, ends_ms)
  end
end
if count >= most then return 'full' end
redis.call('HSET', snoozes, member, ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
redis.call('PEXPIREAT', snoozes, string.format('%.0f', last_ms))
return 'snoozed'
