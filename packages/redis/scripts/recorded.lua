--[[ recorded.lua: a task with its journal, as `begin` would give them, without beginning a run.

KEYS  task journal feed due

Returns {task hash, journal hash}.

It reads only. Both hashes are read in one script, so that what a run writes meanwhile is in both or in neither. ]]
return { redis.call('HGETALL', task), redis.call('HGETALL', journal) }
