--[[ create.lua: writes a new task with its first run due.

KEYS  task journal feed due
      owner    stream  task ids of one principal in the order of their creation
      audit    stream  audit records of the partition
      once     string  id and fingerprint of the task that was created with an idempotency key; not looked at without one
      wait     list    BullMQ's: runs that wait for a worker
      prioritized      zset    BullMQ's: new runs that wait for a worker
ARGV  task_id, facts (JSON), given (sealed), created_at_ms, retention_ms, due_at_ms,
      owner_expires_at_ms ('' for a hidden task: it is in no list), owner_length_max, not_after_ms ('': whenever),
      audit_record ('': none), audit_length_max, once ('', or the digest of an idempotency key), fingerprint (of the call),
      lane ('': none; or where a worker listens, and the run's priority should it have no place),
      most unfinished tasks of the owner, most bytes in them, the same of its tenant ('' for a task that is not counted);
      and for a child: its link (as in `parent`), the token of its parent's run, the new end of that run's lease, the call as it is opened there,
      most unfinished tasks below the root

Returns {'known', task id, fingerprint} of the task that was created with that key before, or {'created', how many tasks of its share never ran, if it is counted, 1 if a worker was told} | {'exists'} | {'expired'} | {'over', 'tasks' or 'bytes',
'principal' or 'tenant'}. Of a child also {'settled'} (its parent's journal has the call), {'crowded'}, and {'cancelled'} | {'refused'} (its parent's run
does not hold the parent). A child is made, and its parent's call opened, in one change, or neither.

Settles the race of a create that is sent twice, as a client library does after a lost connection: the second one changes nothing. If
the caller dies before it adds the run, the sweep finds the task overdue.

A command that waited for Redis longer than its sender did is still sent. By then the caller was told that it failed and has perhaps called
again, so a task is not made after `not_after_ms`. This is the one script that reads the clock: nobody else is there any more to ask. ]]
local task_id, facts, given, created_at_ms, retention_ms, due_at_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local owner, owner_expires_at_ms, owner_length_max, not_after_ms = KEYS[5], ARGV[7], ARGV[8], tonumber(ARGV[9])

if redis.call('EXISTS', task) == 1 then
  -- Made by who took the parent over from a sender that was only slow: it does not hold the parent, and must not think so.
  local parent_id = ARGV[19] and string.match(ARGV[19], '^%S+')
  local why = parent_id and on_task(parent_id, function() return not held_state(ARGV[20]) and refusal() or nil end)
  return { why or 'exists' }
end
if ARGV[12] ~= '' then
  local known = redis.call('GET', KEYS[7])
  local known_id, fingerprint = string.match(known or '', '^(%S+) (%S+)$')
  -- Both are forgotten together, but for who takes a task away by hand.
  if known_id and redis.call('EXISTS', TASK .. known_id) == 1 then return { 'known', known_id, fingerprint } end
end
if not_after_ms then
  local seconds, microseconds = unpack(redis.call('TIME'))
  if seconds * 1000 + microseconds / 1000 > not_after_ms then return { 'expired' } end
end

local link = ARGV[19]
local counts = ARGV[15] ~= ''
local parent, parent_id, call_field, family
if link then
  local root_id, key
  parent_id, root_id, key = string.match(link, '^(%S+) (%S+) %S+ (%S+) %S+$')
  call_field, family = CALL .. key, TASK .. root_id
  local why = on_task(parent_id, function()
    parent = held_state(ARGV[20])
    if not parent then return refusal() end
    if is_finished(parent) then return 'cancelled' end
    if redis.call('HEXISTS', journal, call_field) == 1 then return 'settled' end
    if tonumber(redis.call('HGET', family, 'family') or 0) >= tonumber(ARGV[23]) then return 'crowded' end
    return nil
  end)
  if why then return { why } end
  counts = counts and parent.counted ~= '0'
end

local waiting
if counts then
  local usage = usage_keys(facts)
  local counted = { { 'principal', ARGV[15], ARGV[16] }, { 'tenant', ARGV[17], ARGV[18] } }
  for _, each in ipairs(counted) do
    local who, tasks_max, bytes_max = each[1], tonumber(each[2]), tonumber(each[3])
    local has = redis.call('HMGET', usage[who], 'tasks', 'bytes')
    if tonumber(has[1] or 0) >= tasks_max then return { 'over', 'tasks', who } end
    if tonumber(has[2] or 0) + #given > bytes_max then return { 'over', 'bytes', who } end
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
audit(KEYS[6], ARGV[10], ARGV[11], created_at_ms, 'created')
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
  redis.call('HSET', TASK .. parent_id, call_field, task_id .. ' ' .. parent.revision + 1 .. ' ' .. ARGV[22])
  redis.call('ZADD', due, ARGV[21], parent_id)
end
if ARGV[12] ~= '' then
  redis.call('SET', KEYS[7], task_id .. ' ' .. ARGV[13])
  write_field('once', ARGV[12])
end

-- A stream and not a sorted set: 45 bytes an entry instead of 140.
if owner_expires_at_ms ~= '' then
  redis.call('XADD', owner, 'MAXLEN', '~', owner_length_max, '*', 'id', task_id)
  redis.call('PEXPIREAT', owner, owner_expires_at_ms)
end

-- Ahead of nobody: while others wait for a worker, a new run waits with them.
local is_told
if ARGV[14] ~= '' and redis.call('LLEN', KEYS[8]) == 0 and redis.call('ZCARD', KEYS[9]) == 0 then
  local lane, priority = string.match(ARGV[14], '^(%S+) (%d+)$')
  is_told = redis.call(PUBLISH, lane, task_id .. ' 1 ' .. created_at_ms .. ' ' .. priority) > 0
end
return { 'created', waiting or false, is_told and 1 }
