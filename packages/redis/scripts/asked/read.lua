--[[ read.lua: reads open asks of one partition, each with the facts of its call and what a list shows.

KEYS  tasks  the hash of the task of each ask
ARGV  fields of a task, apart by spaces, of which the first is its call, fields of an ask without their colon and its key, of which the first is the ask
      itself, then the key of each ask (task-hash.ts, LISTED_FIELDS)

Returns for each ask the values of these fields; nil for one that is not open.

One script, because a list shows fifty asks of as many tasks. What came with a call is stored behind its facts and stays here: it may be large. ]]
local fields, of_ask = {}, {}
for field in string.gmatch(ARGV[1], '%S+') do fields[#fields + 1] = field end
for field in string.gmatch(ARGV[2], '%S+') do of_ask[#of_ask + 1] = field .. ':' end
local of_task = #fields

local reply = {}
for at, task in ipairs(KEYS) do
  for place, field in ipairs(of_ask) do fields[of_task + place] = field .. ARGV[at + 2] end
  local values = redis.call('HMGET', task, unpack(fields))
  local is_open = values[1] and values[of_task + 1]
  -- JSON contains no raw line feed.
  if is_open then values[1] = string.match(values[1], '^[^\n]*') end
  reply[at] = is_open and values
end
return reply
