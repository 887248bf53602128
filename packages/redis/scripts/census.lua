--[[ census.lua: counts the open asks in one slice of a partition's unfinished tasks. The slices together make a round.

KEYS  census census census (a hash, in place of the first three keys of a task), due
ARGV  slice (about how many tasks to look at), now_ms, keep_ms, task_key_prefix (as for overdue)

Returns 'counted' if this slice ended a round, else 'counting'.

The hash holds the current round (cursor, began_at_ms, asks, oldest_at_ms) and the result of the last complete one (open_asks,
oldest_ask_at_ms, counted_at_ms: when it began). It serves metrics only, and nothing is decided by it. Two censuses at once, or a slice that
is visited twice while the set grows, make one round inaccurate and have no other effect.]]
local census = KEYS[1]
local slice, now_ms, keep_ms, task_key_prefix = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local cursor, began_at_ms, asks, oldest_at_ms = unpack(redis.call('HMGET', census, 'cursor', 'began_at_ms', 'asks', 'oldest_at_ms'))
if not cursor or cursor == '0' then cursor, began_at_ms, asks, oldest_at_ms = '0', now_ms, 0, '' end
asks = tonumber(asks)

local page = redis.call('ZSCAN', due, cursor, 'COUNT', slice)
for i = 1, #page[2], 2 do
  local key = task_key_prefix .. page[2][i]
  local state = read_state(key)
  if state and state.status == 'input_required' then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      -- Asks of children are counted at the children.
      if is_question(field) and not is_shown(field) then
        asks = asks + 1
        local asked_at_ms = string.match(redis.call('HGET', key, field), '^%S+ %S+ %S+ %S+ (%d+)')
        if asked_at_ms and (oldest_at_ms == '' or tonumber(asked_at_ms) < tonumber(oldest_at_ms)) then oldest_at_ms = asked_at_ms end
      end
    end
  end
end

redis.call('HSET', census, 'cursor', page[1], 'began_at_ms', began_at_ms, 'asks', asks, 'oldest_at_ms', oldest_at_ms)
if page[1] == '0' then
  redis.call('HSET', census, 'open_asks', asks, 'oldest_ask_at_ms', oldest_at_ms, 'counted_at_ms', began_at_ms)
end
redis.call('PEXPIRE', census, keep_ms)
return page[1] == '0' and 'counted' or 'counting'
