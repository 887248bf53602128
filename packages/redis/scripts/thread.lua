--[[ thread.lua: writes what people did around an open ask: who is on it, and its history with the comments.

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  key, digest (of the ask that the writer read), seen (the revision of the thread that the writer read; '': none), thread (sealed; what
      every reader of the task sees), history (sealed), names (digests of the names to which the ask is handed on or escalated, separated by
      spaces, and behind them words as park.lua takes; '': none), tells (what the outbox says besides that, separated by spaces), now_ms, audit_record ('': none), audit_length_max,
      timeout_ms (how long after it was asked the ask closes from now on; '': as before), orders (the words of its place then, as park.lua takes them)

Returns 'accepted' | 'overtaken' | 'late'.

Both texts are sealed, so the writer makes them. They are taken only if nobody else wrote since the writer looked; one who was overtaken looks
again. The history has a key of its own, so that reads of the task do not carry it: it goes with the task, and a year after its last change at
the latest, so that a process of an older version, which does not know it, leaves nothing behind. ]]
local key, digest, seen, thread, history, names, tells, now_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]

-- The ask is found under these names as well, from now on.
local function enter_more(own_key, ask, more)
  local known = redis.call('HGET', journal, 'asked ' .. own_key)
  if not known then return enter_ask(own_key, ask, more) end
  local new = {}
  for name in string.gmatch(more, '%S+') do
    if not string.find(' ' .. known .. ' ', ' ' .. name .. ' ', 1, true) then new[#new + 1] = name end
  end
  if #new == 0 then return end
  redis.call('HSET', journal, 'asked ' .. own_key, known .. ' ' .. table.concat(new, ' '))
  -- With the words behind all names, which say in which sets it is.
  place_ask(own_key, ask, table.concat(new, ' ') .. (string.match(known, ' !.*$') or ''))
end

-- It closes at another time from now on. An open run knows the time that it was, and parks until then: as after an answer, it is followed by
-- another one at once.
local function move(state, ask, timeout_ms, orders)
  local head, asked_at_ms, before_ms, rest = string.match(ask, '^(%S+ %S+ %S+ %S+) (%S+) (%S+) (.*)$')
  local moved = table.concat({ head, asked_at_ms, timeout_ms, rest }, ' ')
  redis.call('HSET', task, 'ask:' .. key, moved)
  local known = redis.call('HGET', journal, 'asked ' .. key)
  if known then
    local names = string.gsub(known, ' !%a+=%d+', '') .. (orders ~= '' and ' ' .. orders or '')
    redis.call('HSET', journal, 'asked ' .. key, names)
    place_ask(key, string.match(moved, '^%S+ %S+ (.*)$'), names)
  end
  if tonumber(timeout_ms) >= tonumber(before_ms) then return end
  local deadline_ms = asked_at_ms + timeout_ms
  local due_ms = redis.call('ZSCORE', due, own_id())
  if state.token then
    state.answers = state.answers + 1
  elseif due_ms and deadline_ms < tonumber(due_ms) then
    redis.call('ZADD', due, string.format('%.0f', deadline_ms), own_id())
  end
end

local function write()
  local state = read_state(task)
  local ask = state and redis.call('HGET', task, 'ask:' .. key)
  if not ask or string.match(ask, '^%S+') ~= digest then return 'late' end -- I4
  local before = redis.call('HGET', task, 'thread:' .. key)
  if (before and string.match(before, '^%S+') or '') ~= seen then return 'overtaken' end

  local threads = task .. ':threads'
  local added = #history - #(redis.call('HGET', threads, key) or '')
  redis.call('HSET', threads, key, history)
  redis.call('PEXPIREAT', threads, string.format('%.0f', now_ms + ASKED_MS))
  redis.call('HINCRBY', task, 'threads', added)
  redis.call('HSET', task, 'thread:' .. key, state.revision + 1 .. ' ' .. thread)
  count_more(state, added)
  if names ~= '' then enter_more(key, string.match(ask, '^%S+ %S+ (.*)$'), names) end
  if ARGV[11] ~= '' then move(state, ask, ARGV[11], ARGV[12]) end
  local asked = redis.call('HGET', journal, 'asked ' .. key)
  if names ~= '' then handed_on = key .. '\n' .. string.gsub(names, ' !%S+', '') .. (is_approval(asked) and APPROVAL or '') end
  if asked then
    audiences[own_id() .. ' ' .. key] = asked
    tell_asked(asked)
  end
  thread_tells = tells
  happens_to_ask('thread', key)
  tell(state, now_ms)
  write_state(state)
  return 'accepted'
end

local reply = write()
if reply ~= 'overtaken' then audit(KEYS[5], ARGV[9], ARGV[10], now_ms, reply) end
return reply
