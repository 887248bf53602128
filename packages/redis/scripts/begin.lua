--[[ begin.lua: takes the task for a run and draws its fencing token (I5).

KEYS  task journal feed due
ARGV  task_id, run, token, now_ms, due_at_ms (the end of the lease), opening (count, then key and entry of each)

Returns {'begun', task hash, journal hash} | {'finished'} | {'stale'} | {'held'} | {'unknown'}.

Settles the race between jobs that carry the same run. BullMQ forgets a job's id together with the job, and hands out a stalled job again.
It considers a job stalled when its lock has lapsed, which also happens to a live worker while Redis is away or its event loop is blocked;
the step in progress would then run twice at once. Hence:

  no run is open   only the next number is taken, so the first of two jobs wins
  a run is open    only its own number is taken, and only after its lease, that is, once the task is due; the new token fences off the old worker

A finished task begins once more if it has to be compensated. A child whose parent is gone ends here, because nothing waits for it.

Only the first begin of a task writes the opening. The handler's first side effect then needs no write before it, and a process that takes the task
over finds in the journal that the effect may have begun.

Takeovers are counted until something is recorded or parked, so that a task that kills each of its workers ends eventually. ]]
local task_id, run, token, now_ms, due_at_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local state = read_state(task)
if not state then
  redis.call('ZREM', due, task_id)
  return { 'unknown' }
end
local owed = is_finished(state) and owed_state()
if is_finished(state) and not owed then return { 'finished' } end -- I1
local expected = state.token and state.run or state.run + 1
if run ~= expected then return { 'stale' } end
if is_child() and not owed and not is_wanted() then
  end_task(state, task_id, 'cancelled', now_ms)
  return { 'finished' }
end
-- With the same token, this begin was sent twice, as client libraries do after a lost connection.
if state.token and state.token ~= token then
  local lease_until_ms = redis.call('ZSCORE', due, task_id)
  if lease_until_ms and tonumber(lease_until_ms) > tonumber(now_ms) then return { 'held' } end
  state.takeovers = state.takeovers + 1
end

if run == 1 and not state.token and state.takeovers == 0 and not owed then write_entries(6, now_ms) end
if owed then redis.call('HSET', task, 'owed', owed.why) end
if run == 1 and not state.token and state.counted ~= '0' then use_less(call_facts(), 'waiting', 1) end
state.run = run
state.token = token
state.answers = 0
write_state(state)
redis.call('ZADD', due, due_at_ms, task_id)
return { 'begun', redis.call('HGETALL', task), redis.call('HGETALL', journal) }
