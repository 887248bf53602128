--[[ task/usage.lua: counts what the tasks of an owner and of its tenant use and keep, for quotas. ]]

-- What the unfinished tasks of an owner and of its tenant use in this partition: hashes with `tasks`, `bytes` (arguments, and what was
-- recorded) and `waiting` (tasks that never ran). They exist while there are such tasks. Only tasks of identified callers are counted. The keys follow
-- from the facts of the call and, derived from the due set's key, share the task's slot.
local USAGE = OF_SLOT .. 'usage:'

local function usage_keys(facts)
  local owner = cjson.decode(facts)[3]
  local principal, tenant = owner, 'default'
  if type(owner) == 'table' then principal, tenant = owner[1], owner[2] end
  return { principal = USAGE .. 'principal:' .. principal, tenant = USAGE .. 'tenant:' .. tenant, has_tenant = tenant ~= 'default' }
end

-- What the tasks that are over keep, of the same two: hashes with `total` bytes, and the bytes by the time (ms) at which they are gone.
-- Nothing runs when a key expires, so the bytes of all tasks that expire within the same few minutes are given back together, at the end of
-- them: a sixteenth of the retention late at most. `next` is the first of these times, `last` the last, at which the hash expires.
local KEPT = OF_SLOT .. 'kept:'

local function kept_keys(facts)
  local usage = usage_keys(facts)
  return { principal = KEPT .. string.sub(usage.principal, #USAGE + 1), tenant = KEPT .. string.sub(usage.tenant, #USAGE + 1) }
end

-- How many bytes are kept; removes what is gone.
local function kept_bytes(key, now_ms)
  local has = redis.call('HMGET', key, 'total', 'next')
  local total, next_ms = tonumber(has[1] or 0), tonumber(has[2] or 0)
  if total == 0 or next_ms > tonumber(now_ms) then return total end
  local first
  total = 0
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local at_ms = tonumber(fields[i])
    if at_ms and at_ms <= tonumber(now_ms) then
      redis.call('HDEL', key, fields[i])
    elseif at_ms then
      total = total + tonumber(fields[i + 1])
      if not first or at_ms < first then first = at_ms end
    end
  end
  if total == 0 then redis.call('DEL', key) else redis.call('HSET', key, 'total', total, 'next', string.format('%.0f', first)) end
  return total
end

-- What a task costs that keeps nothing, about: its key, its state, its facts, its place in the list of its owner.
local KEPT_AT_LEAST = 500

-- The end of the few minutes in which the task expires.
local function kept_until_ms(state)
  local width = 1000
  while width * 16 < tonumber(state.retention_ms) do width = width * 2 end
  return math.ceil(tonumber(state.expires_at_ms) / width) * width
end

-- `lived` is when what is kept is gone: `expires_at_ms`, `retention_ms` after the end.
local function count_kept(facts, lived, bytes, now_ms)
  local is_read, keys = pcall(kept_keys, facts)
  if not is_read then return end -- damaged, so nobody's
  local gone_ms = kept_until_ms(lived)
  if gone_ms <= tonumber(now_ms) then return end
  local field = string.format('%.0f', gone_ms)
  for _, key in ipairs({ keys.principal, keys.tenant }) do
    local total = kept_bytes(key, now_ms) + bytes
    local has = redis.call('HMGET', key, 'next', 'last')
    local first, last = math.min(tonumber(has[1] or gone_ms), gone_ms), math.max(tonumber(has[2] or 0), gone_ms)
    redis.call('HINCRBY', key, field, bytes)
    redis.call('HSET', key, 'total', total, 'next', string.format('%.0f', first), 'last', string.format('%.0f', last))
    redis.call('PEXPIREAT', key, string.format('%.0f', last))
  end
end

-- Of a task that an operator deletes. Nothing is given back of a bucket that is gone.
local function give_back_kept(facts, lived, bytes, now_ms)
  local is_read, keys = pcall(kept_keys, facts)
  local gone_ms = kept_until_ms(lived)
  if not is_read or gone_ms <= tonumber(now_ms) then return end
  local field = string.format('%.0f', gone_ms)
  for _, key in ipairs({ keys.principal, keys.tenant }) do
    local held = tonumber(redis.call('HGET', key, field) or 0)
    local given = math.min(held, bytes)
    if given > 0 then
      redis.call('HINCRBY', key, 'total', -given)
      -- The bucket stays, empty: it may be the next one or the last.
      redis.call('HINCRBY', key, field, -given)
    end
  end
end

-- The facts without what was given inline after them. The JSON itself contains no line feed.
local function call_facts()
  return string.match(redis.call('HGET', task, 'call'), '^[^\n]*')
end

-- Writes a record of what a script does by itself to another task than its own, or because the task ends: nobody acts, and the caller knows nothing
-- of it. Only tasks that were created with an audit have the digest that binds their records. The next record of the partition trims the stream.
local BINDING, VERSION = 11, 12
local AUDIT = OF_SLOT .. 'audit'

local function note_own(facts, record, now_ms, verdict)
  if type(facts) ~= 'table' or type(facts[BINDING]) ~= 'string' then return end
  local kind, name, owner = facts[1], facts[2], facts[3]
  record.taskId, record.tool, record.call = own_id(), kind .. ' ' .. name, facts[BINDING]
  if type(owner) == 'table' then record.tenant = owner[2] end
  if type(facts[VERSION]) == 'string' then record.toolVersion = facts[VERSION] end
  audit(AUDIT, cjson.encode(record), nil, now_ms, verdict)
end

-- A question or an event that its tool has withdrawn, or that is open as its task ends or restarts.
function note_closed(key, ask, why, now_ms)
  local digest, revision, asked = string.match(ask, '^(%S+) (%S+) %S+ %S+ (%S+)')
  if not digest then return end
  local record = { action = 'answer', door = why == 'withdrawn' and 'tool' or 'end', did = 'withdrawn', ask = key, question = digest }
  record.version, record.asked = tonumber(revision), tonumber(asked)
  local is_read, facts = pcall(cjson.decode, call_facts())
  if is_read then note_own(facts, record, now_ms, 'accepted') end
end

local function use_less(facts, field, by)
  local is_read, keys = pcall(usage_keys, facts)
  if not is_read then return end -- damaged, so nobody's: the task must be able to end
  for _, key in ipairs({ keys.principal, keys.tenant }) do
    -- A hash that was deleted in the meantime starts from zero: tasks counted before must not be subtracted from later ones.
    local left = tonumber(redis.call('HGET', key, field) or 0)
    if left > 0 then redis.call('HSET', key, field, math.max(0, left - by)) end
    if field == 'tasks' and left <= by then redis.call('DEL', key) end
  end
end

-- Counts what is recorded for an unfinished task, or, below 0, what is dropped. The caller writes the state.
local function count_more(state, bytes)
  if state.counted == '0' then return end
  -- One byte stays counted, because 0 means that the task is not. An older version did not count feeds.
  bytes = math.max(bytes, 1 - state.counted)
  if bytes == 0 then return end
  local facts = call_facts()
  local is_read, keys = pcall(usage_keys, facts)
  if not is_read then return end
  state.counted = string.format('%.0f', state.counted + bytes)
  if bytes < 0 then return use_less(facts, 'bytes', -bytes) end
  for _, key in ipairs({ keys.principal, keys.tenant }) do redis.call('HINCRBY', key, 'bytes', bytes) end
end

-- How many bytes the oldest `most` items of the feed have, or all.
local function feed_size(most)
  local bytes = 0
  local items = most and redis.call('XRANGE', feed, '-', '+', 'COUNT', most) or redis.call('XRANGE', feed, '-', '+')
  for _, item in ipairs(items) do bytes = bytes + #item[2][2] end
  return bytes
end

-- At a restart, which drops what was recorded and has new arguments, and keeps the feed.
local function count_anew(state, bytes)
  if state.counted == '0' then return end
  bytes = bytes + feed_size()
  use_less(call_facts(), 'bytes', tonumber(state.counted) - 1)
  state.counted = '1'
  count_more(state, bytes)
end

-- At the end of a task, subtracts as much as was counted. The arguments cannot be measured again: a restart may have emptied the journal
-- with them.
local function stop_counting(state)
  if state.counted == '0' then return end
  local facts = call_facts()
  use_less(facts, 'bytes', tonumber(state.counted))
  if state.run == 0 then use_less(facts, 'waiting', 1) end
  use_less(facts, 'tasks', 1)
end
