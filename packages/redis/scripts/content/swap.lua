--[[ swap.lua: changes one field of a hash if it still holds what the caller saw.

KEYS  content  hash  data keys, wrapped
ARGV  field, expected ('': not there), value ('': removes the field)

Returns 1 | 0, where 0 says that the field holds something else.

Settles the race of two processes that begin a tenant's next epoch, wrap its keys anew, or erase it. ]]
local content = KEYS[1]
local field, expected, value = ARGV[1], ARGV[2], ARGV[3]

if (redis.call('HGET', content, field) or '') ~= expected then return 0 end
if value == '' then
  redis.call('HDEL', content, field)
else
  redis.call('HSET', content, field, value)
end
return 1
