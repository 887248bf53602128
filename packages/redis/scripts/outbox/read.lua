--[[ read.lua: entries of an outbox after a place.

KEYS  outbox   stream   `e`: what happened, as post.lua writes it
ARGV  after (an id; '' for none: only where the outbox ends now), count

Returns {now_ms, length, id of the oldest entry or '', {id, entry, …}}

The time is that of this node, which also gives entries their ids: everything that is posted later has an id of this millisecond or later, and
so a reader's place moves on while nothing happens. ]]
local time = redis.call('TIME')
local now_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local found = {}
if ARGV[1] ~= '' then
  for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
    found[#found + 1] = entry[1]
    found[#found + 1] = entry[2][2]
  end
end
return { now_ms, redis.call('XLEN', KEYS[1]), oldest and oldest[1] or '', found }
