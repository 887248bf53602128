--[[ recorded.lua: reads a task with its journal, as `begin` would return them, without beginning a run.

KEYS  task journal feed due

Returns {task hash, journal hash}; both empty for a task that is over and keeps neither its arguments nor its journal. Whether it does is seen
from what is there: a worker of an older version removes them whatever the task's facts say.

It only reads. One script reads both hashes, so what a run writes at the same time is in both or in neither. ]]
local state = read_state(task)
if not state then return { {}, {} } end
local function keeps_arguments()
  for _, each in ipairs({ { journal, 'given' }, { journal, 'arguments' }, { task, 'arguments' } }) do
    if redis.call('HEXISTS', each[1], each[2]) == 1 then return true end
  end
  return string.find(redis.call('HGET', task, 'call'), '\n', 1, true) ~= nil
end
if is_finished(state) and not owed_state() and not keeps_arguments() then return { {}, {} } end
return { redis.call('HGETALL', task), redis.call('HGETALL', journal) }
