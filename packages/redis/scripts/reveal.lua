--[[ reveal.lua: gives a hidden task a handle, and notes that its client can be asked nothing. From then on it is in its owner's list.

KEYS  task journal feed due
      owner  stream  task ids of one principal in the order of their creation
ARGV  task_id, before (`call` as it is stored), call (the same, not hidden and without capabilities), owner_expires_at_ms ('' for a task that is in the
      list already), owner_length_max

Returns 'revealed' | 'overtaken': `call` is a different one by now, because another front end has done the same or the task has given up what only runs
read. The sender reads it again. A command that is sent again after its reply was lost is 'overtaken', so no task is listed twice. ]]
local task_id, before, call, owner_expires_at_ms, owner_length_max = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if redis.call('HGET', task, 'call') ~= before then return 'overtaken' end
redis.call('HSET', task, 'call', call)
if owner_expires_at_ms ~= '' then list_task(KEYS[5], task_id, owner_expires_at_ms, owner_length_max) end
return 'revealed'
