--[[ create.lua: writes a new task with its first run due.

KEYS  task journal feed due
      owner        stream  task ids of one principal in the order of their creation
      audit        stream  audit records of the partition
      once         string  id and fingerprint of the task that was created with an idempotency key; unused without one
      wait         list    BullMQ's runs that wait for a worker
      prioritized  zset    BullMQ's new runs that wait for a worker
ARGV  task_id, facts (JSON), given (sealed), created_at_ms, retention_ms, due_at_ms,
      owner_expires_at_ms ('' for a hidden task, which is in no list), owner_length_max, not_after_ms ('': no limit),
      audit_record ('': none), audit_length_max, once ('' or the digest of an idempotency key), fingerprint (of the call),
      lane ('' or the channel of a worker, and the run's priority if that worker has no room),
      tasks_max, bytes_max and stored_max ('': no limit) of the owner, the same of its tenant (all '' for a task that is not counted);
      only for a child: link (as in `parent`), token of its parent's run, the new end of that run's lease, the call as it is opened there,
      family_max (unfinished tasks below the root)

Returns
  {'created', tasks of its share that never ran, if it is counted, 1 if a worker received the run}
  {'known', task id, fingerprint} of the task that was created with the same idempotency key before
  {'exists'} | {'expired'} | {'over', 'tasks', 'bytes' or 'stored', 'principal' or 'tenant'}
  and only for a child: {'settled'} (the parent's journal has the call), {'crowded'}, {'cancelled'} | {'refused'} (the run no longer holds the
  parent). The child is created and the parent's call opened in one change, or neither happens.

Settles the race of a create that is sent twice, as client libraries do after a lost connection: the second one changes nothing. If the
caller dies before it adds the run, the sweep finds the task overdue.

A command that waited for Redis longer than its sender did is still sent. By then the caller was told that the call failed, and may have
called again, so no task is created after `not_after_ms`. Only this script reads the clock: the sender has stopped waiting, and nothing else
could check.]]
local task_id, facts, given, created_at_ms, retention_ms, due_at_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local owner, owner_expires_at_ms, owner_length_max, not_after_ms = KEYS[5], ARGV[7], ARGV[8], tonumber(ARGV[9])
local audit_record, audit_length_max, once, fingerprint, lane = ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local link, token, lease_until_ms, open, family_max = ARGV[21], ARGV[22], ARGV[23], ARGV[24], tonumber(ARGV[25])

if redis.call('EXISTS', task) == 1 then
  -- The sender may be slow rather than repeating itself, and another worker may have taken the parent over: then it is refused.
  local parent_id = link and string.match(link, '^%S+')
  local why = parent_id and on_task(parent_id, function() return not held_state(token) and refusal() or nil end)
  return { why or 'exists' }
end
if once ~= '' then
  local known = redis.call('GET', KEYS[7])
  local known_id, known_fingerprint = string.match(known or '', '^(%S+) (%S+)$')
  -- Both keys expire together, but an operator may have deleted the task manually.
  if known_id and redis.call('EXISTS', TASK .. known_id) == 1 then return { 'known', known_id, known_fingerprint } end
end
if not_after_ms then
  local seconds, microseconds = unpack(redis.call('TIME'))
  if seconds * 1000 + microseconds / 1000 > not_after_ms then return { 'expired' } end
end

local counts = ARGV[15] ~= ''
local parent, parent_id, call_field, family
if link then
  local root_id, key
  parent_id, root_id, key = string.match(link, '^(%S+) (%S+) %S+ (%S+) %S+$')
  call_field, family = CALL .. key, TASK .. root_id
  local why = on_task(parent_id, function()
    parent = held_state(token)
    if not parent then return refusal() end
    if is_finished(parent) then return 'cancelled' end
    if redis.call('HEXISTS', journal, call_field) == 1 then return 'settled' end
    if tonumber(redis.call('HGET', family, 'family') or 0) >= family_max then return 'crowded' end
    return nil
  end)
  if why then return { why } end
  counts = counts and parent.counted ~= '0'
end

local waiting
if counts then
  local usage = usage_keys(facts)
  local kept = kept_keys(facts)
  local counted = { { 'principal', ARGV[15], ARGV[16], ARGV[17] }, { 'tenant', ARGV[18], ARGV[19], ARGV[20] } }
  for _, each in ipairs(counted) do
    local who, tasks_max, bytes_max, stored_max = each[1], tonumber(each[2]), tonumber(each[3]), tonumber(each[4])
    local has = redis.call('HMGET', usage[who], 'tasks', 'bytes')
    if tonumber(has[1] or 0) >= tasks_max then return { 'over', 'tasks', who } end
    if tonumber(has[2] or 0) + #given > bytes_max then return { 'over', 'bytes', who } end
    if stored_max and tonumber(has[2] or 0) + #given + kept_bytes(kept[who], created_at_ms) > stored_max then return { 'over', 'stored', who } end
  end
  for _, each in ipairs(counted) do
    redis.call('HINCRBY', usage[each[1]], 'tasks', 1)
    redis.call('HINCRBY', usage[each[1]], 'bytes', #given)
    local total = redis.call('HINCRBY', usage[each[1]], 'waiting', 1)
    if each[1] == 'principal' or usage.has_tenant then waiting = total end
  end
end

local state = {
  status = 'working', revision = 0, run = 0, updated_at_ms = created_at_ms,
  expires_at_ms = 0, retention_ms = retention_ms, attempt = 0, generation = 0, takeovers = 0, counted = waiting and #given or 0,
}
audit(KEYS[6], audit_record, audit_length_max, created_at_ms, 'created')
happens('created')
tell(state, created_at_ms)
write_state(state)
if #given > GIVEN_INLINE_MAX then
  write_field('call', facts)
  redis.call('HSET', journal, 'given', given)
else
  write_field('call', facts .. '\n' .. given)
end
redis.call('ZADD', due, due_at_ms, task_id)
if link then
  write_field('parent', link)
  redis.call('HINCRBY', family, 'family', 1)
  redis.call('HSET', TASK .. parent_id, call_field, task_id .. ' ' .. parent.revision + 1 .. ' ' .. open)
  redis.call('ZADD', due, lease_until_ms, parent_id)
end
if once ~= '' then
  redis.call('SET', KEYS[7], task_id .. ' ' .. fingerprint)
  write_field('once', once)
end

if owner_expires_at_ms ~= '' then list_task(owner, task_id, owner_expires_at_ms, owner_length_max) end

-- A new run overtakes no other: while runs wait in the queue, it waits with them. If it is the only one of its share that waits, its turn is
-- next, and a worker may have a place in reserve for it.
local is_delivered
if lane ~= '' and (waiting == 1 or redis.call('LLEN', KEYS[8]) == 0 and redis.call('ZCARD', KEYS[9]) == 0) then
  local channel, rest = string.match(lane, '^(%S+) (%d.*)$')
  is_delivered = redis.call(PUBLISH, channel, task_id .. ' 1 ' .. created_at_ms .. ' ' .. rest) > 0
end
return { 'created', waiting or false, is_delivered and 1 }
