--[[ begin.lua: takes the task for a run and draws its fence (I5).

KEYS  task journal feed due
ARGV  task_id, run, token, now_ms, due_at_ms (the end of the lease)

Returns {'begun', task hash, journal hash} | {'finished'} | {'stale'} | {'unknown'}.

Two jobs can carry the same run: BullMQ forgets a job id with its job, and a stalled job is handed out again. No run open: only the next
number is taken, so of two jobs the first wins. A run open: only its own number is taken, and that is a takeover, since a job is handed
out again only after its worker fell silent. The new token shuts the old worker out should it come back. ]]
local task_id, run, token, due_at_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[5]

local state = read_state(task)
if not state then
  redis.call('ZREM', due, task_id)
  return { 'unknown' }
end
if is_finished(state) then return { 'finished' } end -- I1
local expected = state.token and state.run or state.run + 1
if run ~= expected then return { 'stale' } end

state.run = run
state.token = token
state.answers = 0
outlive(state, due_at_ms)
write_state(state)
redis.call('ZADD', due, due_at_ms, task_id)
expire_together(state)
return { 'begun', redis.call('HGETALL', task), redis.call('HGETALL', journal) }
