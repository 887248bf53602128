--[[ report.lua: stores what a run reports while it works.

KEYS  task journal feed due
ARGV  token, now_ms, fields (count, then name and value of each), feed_length_max, items (count, then each, sealed), waits (of a child that
      reports a status: 1 if it waits for people at another server, 0 if it does not; else '')

Returns 'reported' | 'cancelled' | 'refused'.

Only the holder reports for the task (I5): a worker that was replaced cannot set the progress back. ]]
local token, now_ms = ARGV[1], ARGV[2]

local state = held_state(token)
if not state then return refusal() end
if is_finished(state) then return 'cancelled' end -- I1

local at = each_group(3, 2, write_field)
local feed_length_max = ARGV[at]
local added, over = 0, redis.call('XLEN', feed) + ARGV[at + 1] - feed_length_max
if over > 0 and state.counted ~= '0' then added = -feed_size(over) end
local after = each_group(at + 1, 1, function(item)
  redis.call('XADD', feed, 'MAXLEN', feed_length_max, '*', 'item', item)
  added = added + #item
end)
count_more(state, added)
happens('reported')
tell(state, now_ms)
write_state(state)
if ARGV[after] ~= '' then note_behind(ARGV[after] == '1', now_ms) end
return 'reported'
