--[[ swap.lua: changes one field of a hash if it still has the value that the caller saw.

KEYS  content  hash  data keys, wrapped
ARGV  field, expected ('': absent), value ('': removes the field)

Returns 1, or 0 if the field has another value.

Settles the race of processes that start a tenant's next epoch, wrap its keys anew or erase it at the same time. ]]
local content = KEYS[1]
local field, expected, value = ARGV[1], ARGV[2], ARGV[3]

if (redis.call('HGET', content, field) or '') ~= expected then return 0 end
if value == '' then
  redis.call('HDEL', content, field)
else
  redis.call('HSET', content, field, value)
end
return 1
