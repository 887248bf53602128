--[[ task/end.lua: ends a task, keeps of it what may still be asked for, and passes its end on to its parent or its children. ]]

-- The first words of an entry, as a timeline lists them, then the outcome if it is a bare word, and - otherwise.
local function line_of(entry)
  local words, bare = string.match(entry, '^(%S+ %S+ %S+ !) (%S+)$')
  return words and words .. ' ' .. bare or string.match(entry, '^%S+ %S+ %S+ %S+') .. ' -'
end

-- How many bytes of lines a task that is over keeps besides those of its asks, which are its receipts.
local LINES_MAX = 4096

-- How many bytes of answers to asks with an audience a task that is over keeps, for those who were asked.
local ENDS_MAX = 4096

-- How many bytes a task that is over keeps besides its facts, as quotas count them. It has a journal if it keeps its content.
local function kept_size()
  local bytes, fields = 0, redis.call('HGETALL', task)
  for i = 1, #fields, 2 do
    if fields[i] == 'call' then
      bytes = bytes + #fields[i + 1] - #string.match(fields[i + 1], '^[^\n]*')
    elseif fields[i] ~= 'state' then
      bytes = bytes + #fields[i + 1]
    end
    if fields[i] == 'threads' then bytes = bytes + tonumber(fields[i + 1]) end
  end
  for _, each in ipairs(redis.call('HGETALL', journal)) do bytes = bytes + #each end
  return bytes
end

local KEEPS_CONTENT = 4

-- Whether what only runs read is kept as long as the task, by its facts.
local function keeps_content(facts)
  local is_read, list = pcall(cjson.decode, facts)
  local flags = is_read and type(list) == 'table' and tonumber(list[5])
  return flags and math.floor(flags / KEEPS_CONTENT) % 2 == 1
end

-- Of a task that is over, unless it keeps its content, only what may still be asked for is kept: its state and facts, its outcome, and a line for
-- each entry. No run will read its arguments and its journal again. The receipts of answers are in the lines: digest and fingerprint tell a
-- repeated answer from a late one. They are one field of the task, because a key of their own would cost more than all of them.
local function trim_task(call, facts)
  local lines, others, size = {}, {}, 0
  local ends_size = 0
  local entries = redis.call('HGETALL', journal)
  for i = 1, #entries, 2 do
    local key = entries[i]
    -- The hash also holds large arguments and readings of answers, whose names have no colon.
    if string.find(key, ':', 1, true) then
      local list = string.sub(key, 1, 4) == 'ask:' and lines or others
      list[#list + 1] = line_of(entries[i + 1]) .. ' ' .. key
    elseif string.sub(key, 1, 6) == 'asked ' then
      local ask = string.sub(key, 7)
      local entry = redis.call('HGET', journal, 'ask:' .. ask)
      local ended = entry and entries[i + 1] .. '\n' .. entry
      if ended and ends_size + #ended <= ENDS_MAX then
        ends_size = ends_size + #ended
        redis.call('HSET', task, 'end ' .. ask, ended)
      end
    end
  end
  for _, line in ipairs(others) do
    size = size + #line + 1
    if size > LINES_MAX then break end
    lines[#lines + 1] = line
  end
  local lines_text = table.concat(lines, '\n')
  -- An idempotency key leads to the task by a key of its own.
  redis.call('HDEL', task, 'arguments', 'told', 'once')
  if #lines > 0 then
    redis.call('HSET', task, 'call', facts, 'lines', lines_text)
  elseif #facts < #call then
    redis.call('HSET', task, 'call', facts)
  end
  redis.call('DEL', journal)
end

-- The line of an entry, whether the task is over or not; nil if nothing was recorded under the key.
local function recorded_line(key)
  local entry = redis.call('HGET', journal, key)
  if entry then return line_of(entry) end
  for line in string.gmatch(redis.call('HGET', task, 'lines') or '', '[^\n]+') do
    local words, at = string.match(line, '^(.*) (%S+)$')
    if at == key then return words end
  end
  return nil
end

-- Streams send what was reported up to the end, and a client that lost its connection comes back for it.
local FEED_KEPT_MS = 5 * 60 * 1000

local function feed_lives(facts, state, ended_at_ms)
  if keeps_content(facts) then return state end
  local expires_at_ms = math.min(tonumber(state.expires_at_ms), ended_at_ms + FEED_KEPT_MS)
  return { expires_at_ms = string.format('%.0f', expires_at_ms), retention_ms = math.min(tonumber(state.retention_ms), FEED_KEPT_MS) }
end

-- The retention begins with the end. All keys of a task expire together, the feed sooner, and none expires before the end: a waiting task is
-- kept however long no worker runs (I7). Nothing is written after the expiry is set: if the retention is already over, the keys vanish at
-- once, and a field that is written then would create a key that never expires.
local function forget_task(state, task_id, now_ms)
  redis.call('ZREM', due, task_id)
  local has = redis.call('HMGET', task, 'once', 'threads')
  if has[1] then redis.call('PEXPIREAT', ONCE .. has[1], state.expires_at_ms) end
  if has[2] then redis.call('PEXPIREAT', task .. ':threads', state.expires_at_ms) end
  local call = redis.call('HGET', task, 'call')
  local facts = string.match(call, '^[^\n]*')
  local keeps = keeps_content(facts)
  if keeps then redis.call('HDEL', task, 'told', 'once') else trim_task(call, facts) end
  local lives = feed_lives(facts, state, now_ms)
  if state.counted ~= '0' then
    count_kept(facts, state, kept_size() + KEPT_AT_LEAST, now_ms)
    local fed = feed_size()
    if fed > 0 then count_kept(facts, lives, fed, now_ms) end
  end
  redis.call('PEXPIREAT', task, state.expires_at_ms)
  if keeps then redis.call('PEXPIREAT', journal, state.expires_at_ms) end
  redis.call('PEXPIREAT', feed, lives.expires_at_ms)
end

-- With `owes` the task stays due and does not expire until its compensation has ended. A run that is open when its task is cancelled keeps
-- its hold: it records what it has in flight and parks, or its lease runs out.
local function end_task(state, task_id, status, now_ms, owes)
  close_asks(now_ms)
  if is_child() then
    local link = read_link()
    local family = link and TASK .. link.root
    if family and tonumber(redis.call('HGET', family, 'family') or 0) > 0 then redis.call('HINCRBY', family, 'family', -1) end
    if family and redis.call('HDEL', family, 'behind:' .. task_id) > 0 then
      root_id = link.root
      at_root[#at_root + 1] = { what = 'reported' }
    end
  end
  state.status = status
  local is_stopping = owes and status == 'cancelled' and state.token
  if not is_stopping then state.token = nil end
  if owes then
    write_field('owed', is_stopping and owes .. ' stopping' or owes)
    state.attempt = 0
    state.takeovers = 0
  end
  state.expires_at_ms = string.format('%.0f', now_ms + state.retention_ms)
  happens(status)
  tell(state, now_ms)
  write_state(state)
  stop_counting(state)
  redis.call('DEL', deposits)
  if not owes then
    forget_task(state, task_id, now_ms)
  elseif not is_stopping then
    redis.call('ZADD', due, now_ms, task_id)
  end
end

local COMPENSATES = 2

-- The parent has ended, or has withdrawn the call.
function cancel_child(id, now_ms)
  on_task(id, function()
    local state = read_state(task)
    if not state or is_finished(state) then return end
    local is_read, facts = pcall(cjson.decode, call_facts())
    -- A damaged child can only end. Its parent must be able to end as well.
    local link = read_link()
    local compensates = is_read and math.floor(facts[5] / COMPENSATES) % 2 == 1
    -- A task that never ran has done nothing to compensate.
    end_task(state, id, 'cancelled', now_ms, compensates and state.run > 0 and 'cancelled' or nil)
    -- By its facts from before: a child that is not kept has vanished.
    if is_read then note_own(facts, { action = 'cancel', door = 'parent', parent = link and link.parent or nil }, now_ms, 'cancelled') end
  end)
end

-- The end of a child is the answer to its parent's call, as `mark outcome`. If the answers of all children together would exceed told_max,
-- the parent receives `too_large` instead. Returns the parent and its run that is due, or nil if there is no run to add. The link is read
-- before the child's end, with which a child that is not kept vanishes.
local function answer_parent(link, answer, now_ms, too_large, told_max)
  local id = own_id()
  return on_task(link.parent, function()
    local state = read_state(task)
    local field = CALL .. link.key
    local call = state and redis.call('HGET', task, field)
    if not call then return nil end
    local digest, called_at = string.match(call, '^(%S+) %S+ (%S+)')
    if digest ~= id then return nil end
    redis.call('HDEL', task, field)
    happens('answered', string.sub(field, 5))
    tell(state, now_ms)
    if told_max then
      local told = tonumber(redis.call('HGET', task, 'told') or 0) + #answer
      if told > tonumber(told_max) then answer = too_large else redis.call('HSET', task, 'told', told) end
    end
    redis.call('HSET', journal, field, table.concat({ '?' .. now_ms .. '.' .. state.revision, called_at, digest, answer }, ' '))
    count_more(state, #answer)
    if state.token then
      state.answers = state.answers + 1
      write_state(state)
      return nil
    end
    write_state(state)
    redis.call('ZADD', due, now_ms, link.parent)
    return { link.parent, state.run + 1 }
  end)
end

-- A child waits for people at another server, or does so no more. Clients know only its root, which has its status (withBehind in store.ts).
local function note_behind(waits, now_ms)
  local id, link = own_id(), read_link()
  if not link then return end
  on_task(link.root, function()
    local state = read_state(task)
    if not state or is_finished(state) then return end
    local field = 'behind:' .. id
    if waits then redis.call('HSET', task, field, 1) elseif redis.call('HDEL', task, field) == 0 then return end
    happens('reported')
    tell(state, now_ms)
    write_state(state)
  end)
end

-- Whether the parent waits for the child. It does not if an operator deleted it manually.
local function is_wanted()
  local link = read_link()
  local call = link and redis.call('HGET', TASK .. link.parent, CALL .. link.key)
  return call and string.match(call, '^%S+') == own_id()
end
