--[[ recorded.lua: reads a task with its journal, as `begin` would return them, without beginning a run.

KEYS  task journal feed due

Returns {task hash, journal hash}; both empty for a task that is over, which keeps neither its arguments nor its journal.

It only reads. One script reads both hashes, so what a run writes at the same time is in both or in neither. ]]
local state = read_state(task)
if not state or is_finished(state) and not owed_state() then return { {}, {} } end
return { redis.call('HGETALL', task), redis.call('HGETALL', journal) }
