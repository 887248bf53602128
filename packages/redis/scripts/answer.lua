--[[ answer.lua: records one answer to one open ask. The first answer wins (I2).

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  task_id, key, digest (of the ask that the answer was validated against; '' claims nothing), fingerprint (of the outcome),
      outcome (sealed), is_timeout ('' unless the deadline passed without an answer), now_ms,
      ready_at_ms (when the sweep looks for a run that is due now), token ('' unless the holder of the run closes an ask),
      audit_record ('': none), audit_length_max, deposit (sealed; '': none), lane (the channel of a worker, and the run's turn; '': none),
      giver (digest of the person in whose list the answer is kept; '': none), answered_max (entries of that list), answered_as (`given` or
      `refused`: what the outbox says if the ask is an approval);
      only for an ask that several people must accept: seen (the revision at which the last acceptance that the sender knows of was
      counted; '': none), acceptances (sealed, including this one; '': the answer settles the ask)

Returns {receipt} or {receipt, run to add}, with receipt 'accepted' | 'duplicate' | 'late' | 'unknown' | 'overtaken'.

Quorum. Acceptances are sealed, so the sender counts them. This script takes a count only if no other acceptance was recorded since the
sender looked. Of two people who accept at once, one is overtaken, looks again and counts on top of the other. A person is therefore never
counted twice, and of N people exactly the last one settles the ask.

The next run. A worker that listens on the lane receives the run here, in one change with the answer, and the caller adds none. If that
worker has no room, it adds the run itself; if it dies, the sweep does. Without such a worker the caller adds the run. If the caller dies in
between, the sweep finds the task overdue: a spurious run is harmless, a missing one leaves the task stuck. A duplicate therefore also
returns the run to add while it is still due, because its first sender may have died. While a run is open none is added: park finds the
answers that arrived and makes the task due.

The journal entry has no place yet, only the time of its arrival; the next run decides what settles first. A timeout is dated at the
deadline, not at the time when the worker noticed it, so that it precedes answers to other asks that arrived after the deadline. It is late
before the deadline: a worker reads that when its run begins, and until it closes the ask somebody may have asked back, which puts it off.]]
local task_id, key, digest, fingerprint, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local is_timeout, now_ms, ready_at_ms, token = ARGV[6] ~= '', ARGV[7], ARGV[8], ARGV[9]
local audit_record, audit_length_max, deposit, lane = ARGV[10], ARGV[11], ARGV[12], ARGV[13]
local giver, answered_max = ARGV[14], tonumber(ARGV[15])
answered_as = ARGV[16]
local seen, acceptances = ARGV[17], ARGV[18]
local field = 'ask:' .. key

-- What a person has answered, the newest. An entry may outlive its task: whoever reads the list skips it then.
local function note_giver()
  if giver == '' then return end
  local set = OF_SLOT .. 'answered:' .. giver
  redis.call('ZADD', set, now_ms, task_id .. ' ' .. key)
  local over = redis.call('ZCARD', set) - answered_max
  if over > 0 then redis.call('ZREM', set, unpack(redis.call('ZRANGE', set, 0, over - 1))) end
  redis.call('PEXPIREAT', set, string.format('%.0f', now_ms + ASKED_MS))
end

local function answer()
  local state = read_state(task)
  if not state then return { 'unknown' } end

  local ask = digest ~= '' and redis.call('HGET', task, field)
  if ask then
    if string.match(ask, '^%S+') ~= digest then return { 'late' } end -- I4
    if token ~= '' and token ~= state.token then return { 'late' } end -- I5
    local called_at, asked_at_ms, timeout_ms = string.match(ask, '^%S+ %S+ (%S+) %S+ (%S+) (%S+)')
    -- The deadline has moved since its worker looked: somebody asked back, and it stands still (thread.lua).
    if is_timeout and asked_at_ms + timeout_ms > tonumber(now_ms) then return { 'late' } end

    if seen then
      local accepted = redis.call('HGET', task, 'accepted:' .. key)
      if (accepted and string.match(accepted, '^%S+') or '') ~= seen then return { 'overtaken' } end
      if acceptances ~= '' then
        write_field('accepted:' .. key, state.revision + 1 .. ' ' .. acceptances)
        happens_to_ask('accepted', key)
        local asked = redis.call('HGET', journal, 'asked ' .. key)
        if asked then tell_asked(asked) end
        note_giver()
        tell(state, now_ms)
        write_state(state)
        return { 'accepted' }
      end
    end

    -- Removing the open ask is the claim: of several racing answers, only one finds it.
    remove_ask(key, is_timeout and 'overdue' or 'answered', now_ms)
    note_giver()
    if deposit ~= '' then redis.call('HSET', deposits, key, deposit) end
    state.status = status_by_asks()
    tell(state, now_ms)
    local arrived_at_ms = is_timeout and string.format('%.0f', asked_at_ms + timeout_ms) or now_ms
    local place = '?' .. arrived_at_ms .. '.' .. state.revision
    redis.call('HSET', journal, field, table.concat({ place, called_at, digest, fingerprint, outcome }, ' '))
    count_more(state, #outcome)
    local next_run
    if not state.token then
      next_run = state.run + 1
      redis.call('ZADD', due, ready_at_ms, task_id)
      local worker, turn = string.match(lane, '^(%S*)(.*)$')
      if lane ~= '' and redis.call(PUBLISH, worker, task_id .. ' ' .. next_run .. ' ' .. now_ms .. turn) > 0 then next_run = nil end
    elseif token == '' then
      state.answers = state.answers + 1
    end
    write_state(state)
    return { 'accepted', next_run }
  end

  local recorded = recorded_line(field)
  if not recorded then
    -- A restart emptied the journal, but the ask existed. The key says so: name@2#3 belongs to the second restart, name to none.
    local generation = tonumber(string.match(key, '@(%d+)') or 0)
    return { generation < state.generation and 'late' or 'unknown' }
  end
  -- Equal answers are sealed differently each time, so their fingerprints are compared.
  local recorded_digest, recorded_fingerprint = string.match(recorded, '^%S+ %S+ (%S+) (%S+)')
  -- For an ask that several people accepted, the fingerprints of all acceptances, separated by commas.
  local same = string.find(',' .. recorded_fingerprint .. ',', ',' .. fingerprint .. ',', 1, true) and (digest == '' or digest == recorded_digest)
  if not same then return { 'late' } end

  local due_at_ms = redis.call('ZSCORE', due, task_id)
  local is_due = not state.token and not is_finished(state) and due_at_ms and tonumber(due_at_ms) <= tonumber(ready_at_ms)
  return { 'duplicate', is_due and state.run + 1 or nil }
end

local reply = answer()
if reply[1] ~= 'overtaken' then audit(KEYS[5], audit_record, audit_length_max, now_ms, reply[1]) end
return reply
