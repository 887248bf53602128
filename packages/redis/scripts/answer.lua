--[[ answer.lua: records one answer to one open ask. The first answer wins (I2).

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  task_id, key, digest (of the ask that the answer was validated against; '' claims nothing), fingerprint (of the outcome), outcome (sealed),
      is_timeout ('' unless nobody answered), now_ms, ready_at_ms (when the sweep looks after a run that is due now),
      token ('' unless the holder of the run closes an ask),
      audit_record ('': none), audit_length_max, deposit (sealed; '': none), lane (the channel of a worker; '': none);
      and for an ask that several must accept, no other: seen (the revision at which the last of those whom the sender saw was counted, '': none),
      acceptances (sealed, with this one; '': the answer settles the ask)

Returns {receipt} or {receipt, run to add}, with receipt 'accepted' | 'duplicate' | 'late' | 'unknown' | 'overtaken'.

Where several must accept, the sender counts, since what people said is sealed, and this script takes the count only if nobody was counted since it
looked: of two people at once one is overtaken, looks again and counts behind the other. So a person is never counted twice, and of N people
exactly the last one settles the ask.

A worker that listens on the lane is told of the run here, in one change with the answer, and no run is to be added then. Whether it begins it
is its own affair: one that has no room adds the run itself, and after one that dies the sweep does.

Otherwise the caller adds the run. If it dies in between, the sweep finds the task overdue: a spurious run is harmless, a missed one is a stuck
task. For the same reason a duplicate whose first sender may have died gets the run to add too. While a run is open none is added: park
sees the answers that came and makes the task due.

The entry has no place yet, only the time at which it arrived: what a run settles first is the run's to say. An ask that nobody answered is
dated at its deadline and not at the worker's look, so that it comes before an answer to another ask that came behind it. ]]
local task_id, key, digest, fingerprint, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local is_timeout, now_ms, ready_at_ms, token = ARGV[6] ~= '', ARGV[7], ARGV[8], ARGV[9]
local field = 'ask:' .. key

local function answer()
  local state = read_state(task)
  if not state then return { 'unknown' } end

  local ask = digest ~= '' and redis.call('HGET', task, field)
  if ask then
    if string.match(ask, '^%S+') ~= digest then return { 'late' } end -- I4
    if token ~= '' and token ~= state.token then return { 'late' } end -- I5

    if ARGV[14] then
      local accepted = redis.call('HGET', task, 'accepted:' .. key)
      if (accepted and string.match(accepted, '^%S+') or '') ~= ARGV[14] then return { 'overtaken' } end
      if ARGV[15] ~= '' then
        write_field('accepted:' .. key, state.revision + 1 .. ' ' .. ARGV[15])
        happens('accepted', key)
        local link = is_child() and read_link()
        if link then changes_at_root(link, 'accepted', key) end
        tell(state, now_ms)
        write_state(state)
        return { 'accepted' }
      end
    end

    -- Removing the open ask is the claim: of racing answers only one finds it.
    remove_ask(key, is_timeout and 'overdue' or 'answered', now_ms)
    if ARGV[12] ~= '' then redis.call('HSET', deposits, key, ARGV[12]) end
    state.status = status_by_asks()
    tell(state, now_ms)
    local called_at, asked_at_ms, timeout_ms = string.match(ask, '^%S+ %S+ (%S+) %S+ (%S+) (%S+)')
    local arrived_at_ms = is_timeout and string.format('%.0f', asked_at_ms + timeout_ms) or now_ms
    local place = '?' .. arrived_at_ms .. '.' .. state.revision
    redis.call('HSET', journal, field, table.concat({ place, called_at, digest, fingerprint, outcome }, ' '))
    local next_run
    if not state.token then
      next_run = state.run + 1
      redis.call('ZADD', due, ready_at_ms, task_id)
      if ARGV[13] ~= '' and redis.call(PUBLISH, ARGV[13], task_id .. ' ' .. next_run .. ' ' .. now_ms) > 0 then next_run = nil end
    elseif token == '' then
      state.answers = state.answers + 1
    end
    write_state(state)
    return { 'accepted', next_run }
  end

  local recorded = redis.call('HGET', journal, field)
  if not recorded then
    -- A restart emptied the journal, but the ask was put: name@2#3 is of the second restart, name of none.
    local generation = tonumber(string.match(key, '@(%d+)') or 0)
    return { generation < state.generation and 'late' or 'unknown' }
  end
  -- The texts may differ where the answers do not: a sealed text is another one each time.
  local recorded_digest, recorded_fingerprint = string.match(recorded, '^%S+ %S+ (%S+) (%S+)')
  -- Where several had accepted there is one of each, with commas.
  local same = string.find(',' .. recorded_fingerprint .. ',', ',' .. fingerprint .. ',', 1, true) and (digest == '' or digest == recorded_digest)
  if not same then return { 'late' } end

  local due_at_ms = redis.call('ZSCORE', due, task_id)
  local is_due = not state.token and not is_finished(state) and due_at_ms and tonumber(due_at_ms) <= tonumber(ready_at_ms)
  return { 'duplicate', is_due and state.run + 1 or nil }
end

local reply = answer()
if reply[1] ~= 'overtaken' then audit(KEYS[5], ARGV[10], ARGV[11], now_ms, reply[1]) end
return reply
