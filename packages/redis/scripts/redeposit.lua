--[[ redeposit.lua: replaces what an answer left with its task, such as a token that was refreshed.

KEYS  task journal feed due
ARGV  key (of the ask), before (as it is stored), deposit (sealed)

Returns 'replaced' | 'refused': something else is there by now, or nothing since the task has ended. ]]
local before = redis.call('HGET', deposits, ARGV[1])
-- Sent again since its reply was lost.
if before == ARGV[3] then return 'replaced' end
if before ~= ARGV[2] then return 'refused' end
redis.call('HSET', deposits, ARGV[1], ARGV[3])
return 'replaced'
