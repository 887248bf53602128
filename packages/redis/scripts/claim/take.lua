--[[ take.lua: claims something for one holder. A command that is sent again after a lost reply changes nothing.

KEYS  claim   string   the holder; expires with the claim
ARGV  holder, ms

Returns 1 if the holder has the claim, else 0. ]]
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
