--[[ create.lua: writes a new task with its first run due.

KEYS  task journal feed due
      owner    stream  task ids of one principal in the order of their creation
      audit    stream  audit records of the partition
      once     string  id and fingerprint of the task that was created with an idempotency key; not looked at without one
ARGV  task_id, facts (JSON), given (sealed), created_at_ms, retention_ms, due_at_ms,
      owner_expires_at_ms ('' for a hidden task: it is in no list), owner_length_max, not_after_ms ('': whenever),
      audit_record ('': none), audit_length_max, once ('', or the digest of an idempotency key), fingerprint (of the call),
      most unfinished tasks of the owner, most bytes in them, the same of its tenant ('' for a task that is not counted)

Returns {'known', task id, fingerprint} of the task that was created with that key before, or {'created', how many tasks of its share never ran, if it is counted} | {'exists'} | {'expired'} | {'over', 'tasks' or 'bytes',
'principal' or 'tenant'}.

Settles the race of a create that is sent twice, as a client library does after a lost connection: the second one changes nothing. If
the caller dies before it adds the run, the sweep finds the task overdue.

A command that waited for Redis longer than its sender did is still sent. By then the caller was told that it failed and has perhaps called
again, so a task is not made after `not_after_ms`. This is the one script that reads the clock: nobody else is there any more to ask. ]]
local task_id, facts, given, created_at_ms, retention_ms, due_at_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local owner, owner_expires_at_ms, owner_length_max, not_after_ms = KEYS[5], ARGV[7], ARGV[8], tonumber(ARGV[9])

if redis.call('EXISTS', task) == 1 then return { 'exists' } end
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

local waiting
if ARGV[14] ~= '' then
  local usage = usage_keys(facts)
  local counted = { { 'principal', ARGV[14], ARGV[15] }, { 'tenant', ARGV[16], ARGV[17] } }
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
if ARGV[12] ~= '' then
  redis.call('SET', KEYS[7], task_id .. ' ' .. ARGV[13])
  write_field('once', ARGV[12])
end

-- A stream and not a sorted set: 45 bytes an entry instead of 140.
if owner_expires_at_ms ~= '' then
  redis.call('XADD', owner, 'MAXLEN', '~', owner_length_max, '*', 'id', task_id)
  redis.call('PEXPIREAT', owner, owner_expires_at_ms)
end
return { 'created', waiting }
