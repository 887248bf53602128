--[[ keep.lua: renews the lease of a slot of a tool's limit.

KEYS  held line facts (see limit.lua)
ARGV  task_id, token (of the run), until_ms, keep_ms (for how long at least the keys must exist)

An expired lease is renewed too: the run is at work, and without its slot one run too many could begin. ]]
if is_of_other(ARGV[1], ARGV[2]) then return end
hold(ARGV[1], ARGV[2], ARGV[3])
keep_for(tonumber(ARGV[4]))
