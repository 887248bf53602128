--[[ forget.lua: removes the entry of a dead process whose calls have been followed up on.

KEYS  holders   zset (dead.lua)
ARGV  process, until_ms (its follow-up, as it was taken)

Returns 1 if the entry was removed.

Settles the race with a later taking of the same process: it may have lived and died again while this follow-up was slow, or have been passed
on to another process. The entry is then that process's to remove, and must outlive it if it dies. ]]
local process, until_ms = ARGV[1], tonumber(ARGV[2])

if tonumber(redis.call('ZSCORE', KEYS[1], 'dead:' .. process) or -1) ~= until_ms then return 0 end
return redis.call('ZREM', KEYS[1], 'dead:' .. process)
