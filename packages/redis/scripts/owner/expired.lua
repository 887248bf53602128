--[[ expired.lua: removes entries from a principal's list whose tasks have expired.

KEYS  owner   stream: the tasks of one principal in one partition
      task    hash, one for each entry
ARGV  stream id of each entry, in the same order

Returns for each entry 1 if its task still exists, otherwise 0.

One script, because a client that comes back after months meets thousands of them: asking for each task and deleting what is gone would take
a round trip for every few of them. ]]
local reply, gone = {}, {}
for entry, id in ipairs(ARGV) do
  reply[entry] = redis.call('EXISTS', KEYS[entry + 1])
  if reply[entry] == 0 then gone[#gone + 1] = id end
end
if #gone > 0 then redis.call('XDEL', KEYS[1], unpack(gone)) end
return reply
