--[[ keep.lua: renews the lease of a slot of a tool's limit.

KEYS  held line facts (see limit.lua)
ARGV  task_id, until_ms, keep_ms (the key's own life, at least)

Also where the lease had run out: the run is at work, and one that is not counted would let one too many begin. ]]
redis.call('ZADD', held, ARGV[2], ARGV[1])
keep_for(tonumber(ARGV[3]))
