--[[ record.lua: adds entries to the journal or gives existing ones their places, opens asks, and renews the lease. Without entries it only
renews.

KEYS  task journal feed due
ARGV  task_id, token, now_ms, due_at_ms (the new end of the lease), entries (count, then key and entry, or place alone, of each),
      asks (as for park)

Returns 'recorded' | 'cancelled' | 'refused'. `cancelled`: the writer has to stop; its entries are kept if they have to be compensated.

Settles two races:
  - between a worker that was believed dead and the one that took over: only the holder's entries are taken (I5);
  - between a handler that withdraws an ask and a person who answers it: an answer that came first keeps its entry, which takes the place of
    the withdrawal, and a later one is late.

An ask that is opened while the run works can be answered at once. Such an answer adds no run: park finds it and makes the task due. ]]
local task_id, token, now_ms, due_at_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local state = held_state(token)
if not state then return refusal() end

-- I1: entries are recorded, and nothing that clients see changes.
if is_finished(state) then
  write_entries(5, now_ms)
  if state.takeovers > 0 and tonumber(ARGV[5]) > 0 then
    state.takeovers = 0
    write_state(state)
  end
  redis.call('ZADD', due, due_at_ms, task_id)
  return owed_state().is_stopping and 'cancelled' or 'recorded'
end

local after, added = write_entries(5, now_ms)
count_more(state, added)
each_group(after, 4, function(key, digest, ask, names) open_ask(state, key, digest, ask, names) end)
local changed = #happened > 0
local progress = state.takeovers > 0 and tonumber(ARGV[5]) > 0
if progress then state.takeovers = 0 end
if changed then
  state.status = status_by_asks()
  tell(state, now_ms)
end
if progress or changed or added > 0 and state.counted ~= '0' then write_state(state) end
redis.call('ZADD', due, due_at_ms, task_id)
return 'recorded'
