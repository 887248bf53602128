--[[ swap.lua: changes one field of a hash if it still has the value that the caller saw.

KEYS  content  hash  data keys, wrapped
ARGV  field, expected ('': absent), value ('': removes the field)

Returns 1, or 0 if the field has another value.

Settles the race of processes that start a tenant's next epoch, wrap its keys anew or erase it at the same time. A command that is sent again
after a lost reply finds its own value: were that a lost race, the caller would remove the key that the field now lists. ]]
local content = KEYS[1]
local field, expected, value = ARGV[1], ARGV[2], ARGV[3]

local present = redis.call('HGET', content, field) or ''
if present == value then return 1 end
if present ~= expected then return 0 end
if value == '' then
  redis.call('HDEL', content, field)
else
  redis.call('HSET', content, field, value)
end
return 1
