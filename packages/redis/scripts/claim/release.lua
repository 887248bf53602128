--[[ release.lua: gives a claim up, unless it is somebody else's by now.

KEYS  claim   string   the holder
ARGV  holder ]]
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
