--[[ task.lua: what the scripts of tasks share; loaded in front of each of them.

What a person or a tool said is sealed: scripts store it and never look into it. A task's hash holds
  state           status revision run updated_at_ms expires_at_ms retention_ms attempt generation takeovers counted [token answers]
  call            what was called, as JSON, and after a line feed what was given with it: the arguments and early replies. Written only by create
  arguments       the arguments of the last restart, in place of what was given
  ask:<key>       an open ask: digest revision called_at position asked_at_ms timeout_ms, then policy and request. The revision is that of the
                  task when the ask was opened. An event has the key event:<key>; a call of a tool has call:<key>, and the child's id as its digest
  ask:<path>:<key>   an ask of a child, which the root shows: ~ revision position, then the child's id and the key there
  parent          of a child: ids of its parent and of the root, depth, key of the call, path. The id of a child ends in ~, so that no other task
                  is looked up for a parent
  family          of a root: how many tasks below it are unfinished
  behind:<id>     of a root: that child waits for people at another server, as its status says
  told            of a parent: how much its children have told it since it began or restarted
  version         the version of the tool that the task has moved to since it was created; '' for none
  to:<key>        the ask has an audience, so it is in the index
  agreed:<key>    the person agreed to visit the page of the ask
  accepted:<key>  of an ask that several people must accept: the revision at which the last acceptance was counted, then all of them
  thread:<key>    revision, then who is on the open ask and how many comments it has; `threads` is how many bytes all histories have
  refused:<key>   count revision violations: how often replies to the open ask were invalid, when the last one was, and what was wrong with it
  message, immediate, outcome   if present
  owed            the task has ended and has to be compensated: why, then `stopping` until the run that was open at the time lets go
  once            digest of the idempotency key that the task was created with
  problem         for lists: what went wrong, if the outcome is an error or has isError
  lines           of a task that is over: the first words of its journal's entries, one line each: place called_at digest mark word key. The word
                  is the outcome if that is a bare word, and - otherwise
  end <key>       of a task that is over: how an ask ended that was put to others: the names as in the journal's `asked <key>`, a line feed, the entry

The state is one field because every field costs another 64 bytes: with nine fields a parked task would take 500 bytes more.
  - `expires_at_ms` is 0 until the task ends.
  - `counted` is the number of bytes that quotas count for the task while it is unfinished; 0 if they do not count it.
  - `token` and `answers` are present exactly while a run is open. `answers` counts the answers since begin that the holder did not write.

A journal entry is: place called_at digest mark outcome.
  - The place is a number in the order in which effects settled for the handler; w and a number if the handler withdrew the effect. Until a run
    has settled it, ?at_ms.revision for what has arrived, and - for what has not.
  - The digest is - if there is none.
  - The mark is the fingerprint of an answer, ! before an outcome that is a bare word (begun, closed, withdrawn, cancelled), and - before any other.
Large arguments are in the journal's hash, as `given` or `arguments`: only runs need them, and every read of the task would carry them. So are
the audiences of its asks, as `asked <key>`: the digests of the names under which each ask was found, separated by spaces. They stay after the ask
was settled, so that those who were asked can read how it ended. Behind them stands !approval if a rule asks.

Every script on a task gets the same first four KEYS. ]]
local task, journal, feed, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- Prefixes of keys: of a task, by its id, and of the task that was created with an idempotency key. Derived from the due set's key, they
-- share its slot.
local TASK = string.gsub(due, 'due$', 'task:')
local ONCE = string.gsub(due, 'due$', 'once:')

-- What people deposited on pages, by ask key, sealed. Present from the answer until the task ends or restarts.
local deposits = task .. ':deposits'

local function read_state(key)
  local text = redis.call('HGET', key, 'state')
  if not text then return nil end
  local word = {}
  for each in string.gmatch(text, '%S+') do word[#word + 1] = each end
  return {
    status = word[1],
    revision = tonumber(word[2]),
    run = tonumber(word[3]),
    updated_at_ms = word[4],
    expires_at_ms = word[5],
    retention_ms = word[6],
    attempt = word[7],
    generation = tonumber(word[8]),
    takeovers = tonumber(word[9]),
    counted = word[10],
    token = word[11],
    answers = tonumber(word[12]),
  }
end

local function write_state(state)
  local words = {
    state.status, state.revision, state.run, state.updated_at_ms, state.expires_at_ms, state.retention_ms, state.attempt,
    state.generation, state.takeovers, state.counted, state.token, state.token and state.answers,
  }
  redis.call('HSET', task, 'state', table.concat(words, ' '))
end

-- Why the task has to be compensated, and whether the run that was open at its cancellation still has to let go; nil if it need not be
-- compensated.
local function owed_state()
  local owed = redis.call('HGET', task, 'owed')
  if not owed then return nil end
  return { why = string.match(owed, '^%S+'), is_stopping = string.find(owed, ' stopping', 1, true) ~= nil }
end

-- The state if `token` is the token of the last begin, else nil (I5).
local function held_state(token)
  local state = read_state(task)
  if state and state.token == token then return state end
  return nil
end

local function is_finished(state)
  return state.status == 'completed' or state.status == 'failed' or state.status == 'cancelled'
end

-- The reply to a writer that does not hold the task: the task was cancelled during its run, or another worker holds it.
local function refusal()
  local state = read_state(task)
  return state and state.status == 'cancelled' and not state.token and 'cancelled' or 'refused'
end

local function open_asks()
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', task)) do
    if string.sub(field, 1, 4) == 'ask:' then fields[#fields + 1] = field end
  end
  return fields
end

-- Events and calls of tools are open like asks, but no client answers them, and their task stays `working`.
local EVENT, CALL = 'ask:event:', 'ask:call:'

local function is_question(field)
  return string.sub(field, 1, 4) == 'ask:' and string.sub(field, 1, #EVENT) ~= EVENT and string.sub(field, 1, #CALL) ~= CALL
end

-- Whether the ask belongs to a child and is only shown here: its key has a colon, and names have none.
local function is_shown(field) return is_question(field) and string.find(field, ':', 5, true) ~= nil end

local function status_by_asks()
  for _, field in ipairs(open_asks()) do
    if is_question(field) then return 'input_required' end -- I3
  end
  return 'working'
end

-- The changes that this script has made and listeners may want to know, in order.
local happened = {}

local function happens(what, key) happened[#happened + 1] = key and what .. ':' .. key or what end

-- Fields of the task that this script has written: alternating names and values.
local news = {}

local function add_news(field, value)
  news[#news + 1] = field
  news[#news + 1] = value
end

local function write_field(field, value)
  redis.call('HSET', task, field, value)
  add_news(field, value)
end

-- New entries of an owner's list between two looks at its oldest.
local LISTED_BETWEEN = 16

-- Puts a task into its owner's list. A stream rather than a sorted set: 45 bytes per entry instead of 140.
local function list_task(owner, task_id, expires_at_ms, length_max)
  redis.call('XADD', owner, 'MAXLEN', '~', length_max, '*', 'id', task_id)
  redis.call('PEXPIREAT', owner, expires_at_ms)
  -- The oldest of them have mostly expired. Now and then twice as many of those are removed as were added since, so that the list does not grow
  -- with the tasks of the past.
  if redis.call('XLEN', owner) % LISTED_BETWEEN == 0 then
    for _, entry in ipairs(redis.call('XRANGE', owner, '-', '+', 'COUNT', 2 * LISTED_BETWEEN)) do
      if redis.call('EXISTS', TASK .. entry[2][2]) == 0 then redis.call('XDEL', owner, entry[1]) end
    end
  end
end

-- ── families: a child that another task called, its parent, and the root that a client called; all in one slot ──

local function is_child() return string.sub(task, -1) == '~' end

local function own_id() return string.sub(task, #TASK + 1) end

local function read_link()
  local parent, root, depth, key, path = string.match(redis.call('HGET', task, 'parent') or '', '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  return parent and { parent = parent, root = root, key = key, path = path }
end

-- How deep on_task is nested. Changes that nested tasks make at the root are published by the script's own task.
local nested = 0

local function on_task(id, work)
  local outer = { task, journal, feed, deposits, happened, news }
  task = TASK .. id
  journal, feed, deposits, happened, news = task .. ':journal', task .. ':feed', task .. ':deposits', {}, {}
  nested = nested + 1
  local result = work()
  nested = nested - 1
  task, journal, feed, deposits, happened, news = unpack(outer)
  return result
end

-- Changes to what the root shows. A script concerns one family, so there is one root.
local at_root, root_id = {}, nil

-- Something happens to an ask. A child's question is shown by the root, which then changes as well; in this case the link is returned.
local function happens_to_ask(what, key, position)
  happens(what, key)
  local link = is_child() and is_question('ask:' .. key) and read_link()
  if not link then return nil end
  root_id = link.root
  at_root[#at_root + 1] = { what = what, key = link.path .. ':' .. key, id = own_id(), own = key, position = position }
  return link
end

local cancel_child, note_closed, note_behind

-- In outbox/post.lua.
local post

-- ── the index of open asks: for each name in an audience two sorted sets, by the time of the ask and by its deadline, and two more for asks that
-- say when they are wanted or how urgent they are. It narrows and never grants (core's policy.ts). An ask to its task's owner alone has no entry and costs nothing. ──

local ASKED = string.gsub(due, 'due$', 'asked:')
-- The sets outlive their newest entry by this long, so that nothing stays behind tasks that were deleted by hand.
local ASKED_MS = 366 * 24 * 60 * 60 * 1000

-- Those who watch what is asked of them read it again. The names are digests, as in the index.
local ASKED_CHANNEL = string.gsub(due, 'due$', 'asked')
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
  -- Its listeners must read the status again.
  if child_id and redis.call('HDEL', task, 'behind:' .. child_id) > 0 then happens('reported') end
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

-- The changes of which a wake-up can say everything.
local TOLD_IN_FULL = { asked = 1, answered = 1, overdue = 1, withdrawn = 1, closed = 1, completed = 1, failed = 1 }

-- The rest of a wake-up, if it can say everything about the change in few words: what a reader sees of the state, and the fields that were written, as
-- JSON. A listener that knows the task before the change then need not read it (wake-up-news.ts, docs/adr/0023-wake-ups-that-say-what-changed.md).
local function in_full(state)
  local size = 0
  for _, text in ipairs(news) do size = size + #text end
  if size >= NEWS_MAX then return '' end
  for _, change in ipairs(happened) do
    if not TOLD_IN_FULL[string.match(change, '^%a+')] then return '' end
  end
  local seen = table.concat({ state.run, state.updated_at_ms, state.expires_at_ms, state.takeovers }, ' ')
  -- The space is for processes of older versions, which know only words.
  return ' \n' .. seen .. '\n' .. (#news > 0 and cjson.encode(news) or '[]')
end

-- A child's change happens at its root, to the same audience.
local function shows(change)
  happens(change.what, change.key)
  audiences[own_id() .. ' ' .. change.key] = audiences[change.id .. ' ' .. change.own]
end

-- Publishes the changes of a task. This is the only place that does so: once per script that changed anything visible, with the list of
-- changes, and with a revision that is one higher than the last. The outbox is fed from here
-- (outbox/post.lua, docs/adr/0011-one-place-that-tells.md). The channel has the name of the task's hash. Wake-ups can be lost; listeners read the task.
local function tell(state, now_ms)
  if nested == 0 and #at_root > 0 and not is_child() then
    for _, change in ipairs(at_root) do shows(change) end
    at_root = {}
  end
  state.revision = state.revision + 1
  state.updated_at_ms = now_ms
  redis.call(PUBLISH, task, state.revision .. ' ' .. table.concat(happened, ' ') .. in_full(state))
  if OUTBOX_MAX > 0 then post(state, now_ms) end
  if nested > 0 or #at_root == 0 then return end
  on_task(root_id, function()
    local root = read_state(task)
    if not root or is_finished(root) then return end
    for _, change in ipairs(at_root) do
      local field = 'ask:' .. change.key
      if change.what == 'asked' then
        redis.call('HSET', task, field, table.concat({ '~', root.revision + 1, change.position, change.id, change.own }, ' '))
      elseif change.what == 'refused' then
        local shown = redis.call('HGET', task, field)
        if shown then redis.call('HSET', task, field, '~ ' .. root.revision + 1 .. string.match(shown, '^~ %S+(.*)$')) end
      end
      shows(change)
    end
    at_root = {}
    root.status = status_by_asks()
    tell(root, now_ms)
    write_state(root)
  end)
end

-- Writes an audit record, unless it is ''. The records of a partition are numbered without gaps, so that a missing one is noticed; the
-- number is the id in the stream. The chain of hashes is made where the records leave Redis (docs/adr/0013-the-chain-is-made-outside.md).
--
-- The newest record, or all of them, may have been deleted. Redis refuses to assign a number again, and by then the recorded change has been made.
-- The record then takes the number after the last one that Redis assigned, and the gap shows what happened.
local function audit(stream, record, length_max, now_ms, verdict)
  if record == '' then return end
  local function add(command, number)
    local args = { 'XADD', stream }
    if length_max then args = { 'XADD', stream, 'MAXLEN', '~', length_max } end
    for _, arg in ipairs({ string.format('%.0f', number) .. '-1', 'at', now_ms, 'verdict', verdict, 'record', record }) do
      args[#args + 1] = arg
    end
    return command(unpack(args))
  end
  local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  local added = add(redis.pcall, last and tonumber(string.match(last[1], '^%d+')) + 1 or 1)
  if type(added) ~= 'table' or not added.err then return end
  -- Not for its number: Redis is full.
  if redis.call('EXISTS', stream) == 0 then return add(redis.call, 1) end
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then add(redis.call, tonumber(string.match(info[i + 1], '^%d+')) + 1) end
  end
end

-- What the unfinished tasks of an owner and of its tenant use in this partition: hashes with `tasks`, `bytes` (arguments, and what was
-- recorded) and `waiting` (tasks that never ran). They exist while there are such tasks. Only tasks of identified callers are counted. The keys follow
-- from the facts of the call and, derived from the due set's key, share the task's slot.
local USAGE = string.gsub(due, 'due$', 'usage:')

local function usage_keys(facts)
  local owner = cjson.decode(facts)[3]
  local principal, tenant = owner, 'default'
  if type(owner) == 'table' then principal, tenant = owner[1], owner[2] end
  return { principal = USAGE .. 'principal:' .. principal, tenant = USAGE .. 'tenant:' .. tenant, has_tenant = tenant ~= 'default' }
end

-- What the tasks that are over keep, of the same two: hashes with `total` bytes, and the bytes by the time (ms) at which they are gone.
-- Nothing runs when a key expires, so the bytes of all tasks that expire within the same few minutes are given back together, at the end of
-- them: a sixteenth of the retention late at most. `next` is the first of these times, `last` the last, at which the hash expires.
local KEPT = string.gsub(due, 'due$', 'kept:')

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
local AUDIT = string.gsub(due, 'due$', 'audit')

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
    -- With its parent, the root says it (remove_ask).
    if nested == 0 then note_behind(false, now_ms) elseif family then redis.call('HDEL', family, 'behind:' .. task_id) end
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
function note_behind(waits, now_ms)
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

-- In characters: about the size of a task without them.
local GIVEN_INLINE_MAX = 1024

-- Stores the arguments of a restart. The journal must be empty.
local function write_arguments(text)
  local is_large = #text > GIVEN_INLINE_MAX
  if is_large then redis.call('HDEL', task, 'arguments') end
  redis.call('HSET', is_large and journal or task, 'arguments', text)
end

-- Reads a list in ARGV: a count, then that many groups of `width`. Returns the index after the list.
local function each_group(at, width, take)
  local first = at + 1
  local after = first + tonumber(ARGV[at]) * width
  for i = first, after - 1, width do take(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
  return after
end

local function is_unsettled(place) return string.find(place, '^[?-]') ~= nil end

-- An approval was used, or does not count any more: others hear of it with the entry that records it. `told` is what, a colon, and the key of the ask.
local function tell_with_entry(told)
  local what, key = string.match(told, '^(%a+):(.*)$')
  audiences[own_id() .. ' ' .. key] = redis.call('HGET', journal, 'asked ' .. key)
  happens_to_ask(what, key)
end

-- Writes the entries that ARGV lists from `at`: a key and a text each. A key may be followed by a line feed and what the outbox says once the entry
-- has its outcome. The text is an entry, or only its place if the writer knows that the journal holds the rest. An existing entry keeps its outcome and takes a place only if it has none, so that every replay sees the same.
-- Only an entry without an outcome (-), of a sleep or of a step that has begun, is replaced. An ask that is written as withdrawn is closed,
-- which the caller has to publish. Returns the index after the list, and how many bytes were added to the journal.
local function write_entries(at, now_ms)
  local added = 0
  local after = each_group(at, 2, function(key, text)
    local place, told, is_new = string.match(text, '^%S+'), nil, false
    local line_end = string.find(key, '\n', 1, true)
    if line_end then key, told = string.sub(key, 1, line_end - 1), string.sub(key, line_end + 1) end
    if place ~= text and redis.call('HSETNX', journal, key, text) == 1 then
      is_new = true
      added = added + #key + #text
    else
      local held = redis.call('HGET', journal, key)
      if held and string.sub(held, 1, 1) == '-' and place ~= text then
        is_new = true
        redis.call('HSET', journal, key, text)
        added = added + #text
      elseif held and is_unsettled(held) and not is_unsettled(place) then
        redis.call('HSET', journal, key, place .. string.match(held, '^%S+(.*)$'))
      end
    end
    if told and is_new and OUTBOX_MAX > 0 then tell_with_entry(told) end
    if string.sub(place, 1, 1) == 'w' and string.sub(key, 1, 4) == 'ask:' then remove_ask(string.sub(key, 5), 'withdrawn', now_ms) end
  end)
  return after, added
end
