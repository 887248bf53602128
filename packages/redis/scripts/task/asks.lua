--[[ task/asks.lua: opens and closes asks, and keeps the index of those that are put to others than the owner of their task.

The index has, for each name in an audience, two sorted sets, by the time of the ask and by its deadline, and two more for asks that say when they are
wanted or how urgent they are. It narrows and never grants (core's policy.ts). An ask to its task's owner alone has no entry and costs nothing. ]]

-- In end.lua and usage.lua.
local cancel_child, note_closed

local ASKED = OF_SLOT .. 'asked:'
-- The sets outlive their newest entry by this long, so that nothing stays behind tasks that were deleted by hand.
local ASKED_MS = 366 * 24 * 60 * 60 * 1000

-- Those who watch what is asked of them read it again. The names are digests, as in the index.
local ASKED_CHANNEL = OF_SLOT .. 'asked'
local function tell_asked(names) redis.call(PUBLISH, ASKED_CHANNEL, names) end

-- Behind the names of an ask that a rule asks: no digest begins with !. It stays with them, so that what happens to the ask is known as an approval.
local APPROVAL = ' !approval'

local function is_approval(names) return names and string.find(names, APPROVAL, 1, true) ~= nil end

-- Behind them also `!due=<score>` and `!priority=<score>`, of asks that say when they are wanted or how urgent they are: each has a set of its
-- own under every name. Other asks are found in the sets that all have, so they pay nothing (asked/page.lua).
local function orders_of(names)
  local orders = {}
  if not string.find(names, '!', 1, true) then return orders end
  for set, score in string.gmatch(names, '!(%a+)=(%d+)') do orders[#orders + 1] = { ':' .. set, score } end
  return orders
end

-- Visits a place with its set, its member and, of a set that not all asks are in, its score.
local function each_place(key, names, visit)
  local member = own_id() .. ' ' .. key
  local orders = orders_of(names)
  for name in string.gmatch(names, '%S+') do
    if string.sub(name, 1, 1) ~= '!' then
      visit(ASKED .. name .. ':age', member)
      visit(ASKED .. name .. ':deadline', member)
      for _, order in ipairs(orders) do visit(ASKED .. name .. order[1], member, order[2]) end
    end
  end
end

-- The audiences of the asks that this script has opened or closed, as digests, by task and key: the outbox names them.
local audiences = {}

local function place_ask(key, ask, names)
  local asked_at_ms, timeout_ms = string.match(ask, '^%S+ %S+ (%S+) (%S+)')
  local deadline_ms = string.format('%.0f', asked_at_ms + timeout_ms)
  local expires_at_ms = string.format('%.0f', asked_at_ms + ASKED_MS)
  each_place(key, names, function(set, member, score)
    redis.call('ZADD', set, score or string.sub(set, -4) == ':age' and asked_at_ms or deadline_ms, member)
    redis.call('PEXPIREAT', set, expires_at_ms)
  end)
end

local function enter_ask(key, ask, names)
  if redis.call('HSETNX', journal, 'asked ' .. key, names) == 0 then return end
  audiences[own_id() .. ' ' .. key] = names
  redis.call('HSET', task, 'to:' .. key, 1)
  place_ask(key, ask, names)
  tell_asked(names)
end

local function leave_ask(key)
  local names = redis.call('HGET', journal, 'asked ' .. key)
  if not names then return end
  audiences[own_id() .. ' ' .. key] = names
  each_place(key, names, function(set, member) redis.call('ZREM', set, member) end)
  tell_asked(names)
end

-- Removes an open ask with everything noted about it, and returns false if it was not open. `why` says what happened to it. The child of a
-- call is cancelled.
local function remove_ask(key, why, now_ms)
  local field = 'ask:' .. key
  local is_call = string.sub(field, 1, #CALL) == CALL
  local is_unanswered = why == 'withdrawn' or why == 'closed'
  local ask = (is_call or is_unanswered) and redis.call('HGET', task, field) or ''
  local child_id = is_call and string.match(ask, '^%S+')
  local is_noted = redis.call('HDEL', task, 'refused:' .. key, 'agreed:' .. key, 'to:' .. key, 'thread:' .. key) > 0
  local was_open = redis.call('HDEL', task, field, 'accepted:' .. key) > 0
  if not was_open then return false end
  if is_noted then leave_ask(key) end
  local link = happens_to_ask(why, key)
  -- It leaves the root at once, because scripts on the root go by its fields.
  if link then redis.call('HDEL', TASK .. link.root, 'ask:' .. link.path .. ':' .. key) end
  if child_id then cancel_child(child_id, now_ms) elseif is_unanswered then note_closed(key, ask, why, now_ms) end
  return true
end

-- An ask that was answered since begin is in the journal and is not opened again. One that is already open stays as it is, so its deadline
-- does not move.
local function open_ask(state, key, digest, ask, names)
  local field = 'ask:' .. key
  if redis.call('HEXISTS', journal, field) == 1 then return end
  local value = digest .. ' ' .. state.revision + 1 .. ' ' .. ask
  if redis.call('HSETNX', task, field, value) == 0 then
    -- A process of an older version, without this index, opened it.
    if names ~= '' then enter_ask(key, string.match(redis.call('HGET', task, field), '^%S+ %S+ (.*)$'), names) end
    return
  end
  add_news(field, value)
  if names ~= '' then enter_ask(key, ask, names) end
  happens_to_ask('asked', key, string.match(ask, '^%S+ (%S+)'))
end

-- At the end of a task its open asks become entries, so that a late answer can be distinguished from an unknown one.
local function close_asks(now_ms)
  for _, field in ipairs(open_asks()) do
    if is_shown(field) then
      redis.call('HDEL', task, field)
    else
      local digest, called_at = string.match(redis.call('HGET', task, field), '^(%S+) %S+ (%S+)')
      redis.call('HSETNX', journal, field, '- ' .. called_at .. ' ' .. digest .. ' ! closed')
      remove_ask(string.sub(field, 5), 'closed', now_ms)
    end
  end
end
