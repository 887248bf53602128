--[[ recorded.lua: reads a task with its journal, as `begin` would return them, without beginning a run.

KEYS  task journal feed due

Returns {task hash, journal hash}.

It only reads. One script reads both hashes, so what a run writes at the same time is in both or in neither. ]]
return { redis.call('HGETALL', task), redis.call('HGETALL', journal) }
