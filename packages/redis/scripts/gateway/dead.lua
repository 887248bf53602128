--[[ dead.lua: takes processes of the gateway that have stopped beating, to follow up on their calls.

KEYS  holders   zset: processes by the time until which they count as alive, and dead:<process> by the time until which one follows up
ARGV  now_ms, until_ms (the follow-up of those that are taken now), own (id of the process that takes), most

Returns the ids of the processes taken.

One script, because a process must leave the set and be entered for the follow-up at once: the one that takes it may die at any moment,
and then another takes the entry. A process that beats again finds itself gone from the set, and takes its own entry, even from another
one: it drops those calls. It is never declared dead by itself, however far Redis' clock jumps. ]]
local now_ms, until_ms, own, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local taken = {}

local function take(process)
  redis.call('ZADD', KEYS[1], until_ms, 'dead:' .. process)
  taken[#taken + 1] = process
end

if redis.call('ZSCORE', KEYS[1], 'dead:' .. own) then take(own) end
-- One more than are taken, because its own name may be among them.
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now_ms, 'LIMIT', 0, most + 1)) do
  local entered = string.match(member, '^dead:(.*)$')
  local process = entered or member
  if process ~= own and #taken < most then
    -- An entry may be of a process that lives again.
    if not entered then redis.call('ZREM', KEYS[1], member) end
    take(process)
  end
end
return taken
