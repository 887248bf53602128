--[[ redeposit.lua: replaces what an answer deposited with its task, such as a token that was refreshed.

KEYS  task journal feed due
ARGV  key (of the ask), before (as it is stored), deposit (sealed)

Returns 'replaced' | 'refused': the deposit is a different one by now, or it is gone because the task has ended. ]]
local before = redis.call('HGET', deposits, ARGV[1])
-- The command was sent again after its reply was lost.
if before == ARGV[3] then return 'replaced' end
if before ~= ARGV[2] then return 'refused' end
redis.call('HSET', deposits, ARGV[1], ARGV[3])
return 'replaced'
