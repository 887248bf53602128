--[[ take.lua: claims something for one holder. Running it twice is running it once: a command may be sent again when its reply was lost.

KEYS  claim   string   the holder; gone when its time is over
ARGV  holder, ms

Returns 1 if the claim is the holder's, else 0. ]]
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
