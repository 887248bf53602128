--[[ park.lua: ends the run and waits for answers or for a time, or restarts the task.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, due_at_ms (when the task must run at the latest), ready_at_ms (when the sweep looks for a run that is
      due now), attempt, restart ('' or the arguments of the restart, sealed; of the rest only the fields count then),
      fields (count, then name and value of each; none, or a new message), entries (count, then key and entry, or place alone, of each),
      asks (count, then of each: key, digest, `called_at position asked_at_ms timeout_ms` with the sealed rest, and the digests of the names
      in its audience, separated by spaces; '' for an ask to the owner alone)

Returns {'parked'} | {'due', run} | {'refused'}.

Settles the race between a run that parks and an answer. An ask that was answered since begin is in the journal and is not opened again.
Such an answer added no run, because this one was open, so the task is due at once and the caller adds the next run.

A restart empties the journal and closes everything that is open. Answers that arrived since begin are dropped with them. Answers that
arrive later are late, because the keys of asks contain their generation.]]
local task_id, token, now_ms, due_at_ms, ready_at_ms, attempt = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local state = held_state(token)
if not state then return { 'refused' } end

local owed = is_finished(state) and owed_state()
state.token = nil
state.takeovers = 0

-- I1: the task was cancelled during its run, or its compensation is to be tried again.
if owed then
  write_entries(each_group(8, 2, function() end), now_ms)
  state.attempt = owed.is_stopping and 0 or attempt
  redis.call('HSET', task, 'owed', owed.why)
  write_state(state)
  redis.call('ZADD', due, owed.is_stopping and now_ms or due_at_ms, task_id)
  return { 'parked' }
end

local restart = ARGV[7]
if restart ~= '' then
  for _, field in ipairs(open_asks()) do
    if not is_shown(field) then remove_ask(string.sub(field, 5), 'closed', now_ms) end
  end
  redis.call('DEL', journal, deposits, task .. ':threads')
  redis.call('HDEL', task, 'message', 'immediate', 'told', 'threads')
  write_arguments(restart)
  each_group(8, 2, write_field)
  count_anew(state, #restart)
  state.status = 'working'
  state.attempt = 0
  state.generation = state.generation + 1
  happens('restarted')
  tell(state, now_ms)
  write_state(state)
  note_behind(false, now_ms) -- it said so in the message
  redis.call('ZADD', due, ready_at_ms, task_id)
  return { 'due', state.run + 1 }
end

local at = each_group(8, 2, write_field)
local after, added = write_entries(at, now_ms)
count_more(state, added)
if tonumber(ARGV[8]) > 0 then happens('reported') end
each_group(after, 4, function(key, digest, ask, names) open_ask(state, key, digest, ask, names) end)

-- A run that changed nothing visible wakes no listener.
if #happened > 0 then tell(state, now_ms) end
local answered = state.answers > 0
state.status = status_by_asks()
state.attempt = attempt
write_state(state)
if tonumber(ARGV[8]) > 0 then note_behind(false, now_ms) end
redis.call('ZADD', due, answered and ready_at_ms or due_at_ms, task_id)
if answered then return { 'due', state.run + 1 } end
return { 'parked' }
