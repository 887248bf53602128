--[[ release.lua: releases a claim, unless another holder has it by now.

KEYS  claim   string   the holder
ARGV  holder ]]
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
