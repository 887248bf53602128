--[[ keep.lua: renews the lease of a slot of a tool's limit.

KEYS  held line facts (see limit.lua)
ARGV  task_id, until_ms, keep_ms (for how long at least the keys must exist)

An expired lease is renewed too: the run is at work, and without its slot one run too many could begin. ]]
redis.call('ZADD', held, ARGV[2], ARGV[1])
keep_for(tonumber(ARGV[3]))
