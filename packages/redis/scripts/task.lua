--[[ task.lua: the words that the scripts share; loaded in front of each of them.

What a person or a tool said is sealed: scripts put it where it belongs and never look into it. A task's hash holds
  state        status revision run updated_at_ms expires_at_ms retention_ms attempt generation takeovers counted [token answers]
  call         what was called, as JSON, and behind a line feed what was given with it, the arguments and early replies; written by create alone
  arguments    what the handler last began again with, in place of what was given
  ask:<key>    an open ask (of an event the key is event:<key>, of a child that is waited for call:<key>, with the child's id as its digest): digest
               revision called_at position asked_at_ms timeout_ms, and policy and request; the revision is the one that the task had when it was put
  ask:<path>:<key>   what a child asks, which the root shows: ~ revision position, and the child's id and key, where the ask is
  parent       of a child: the ids of its parent and of the root, depth, key of the call and path. The id of a child ends in ~, so nobody looks for it in vain
  family       of a root: how many tasks below it are unfinished
  told         of a parent: how much its children have told it since it began, or began again
  version      the version of the tool that the task has moved to since it was made; '' for none
  agreed:<key>    the person agreed to visit the ask's page
  accepted:<key>  who has accepted an ask so far that several must accept: revision at which the last one was counted, and all of them
  refused:<key>   how often replies to an open ask did not fit, when the last did not, and what was wrong with it: count revision violations
  message, immediate, outcome   when there is one
  owed         the task has ended, and has still to be compensated: why, and `stopping` while the run that was open then has not let go
  once         digest of the idempotency key that the task was created with
  problem      what went wrong, for lists, when the outcome is an error or says no

The state is one field because a field costs 64 bytes of its own: with nine fields a parked task takes 500 bytes more. expires_at_ms is 0
until the task ends. Counted is the bytes that quotas count of the task, 0 for one that they do not. Token and answers (how many came since begin, other than the holder's own) are there exactly while a run is open.

An entry of the journal is: place called_at digest mark outcome. The place is a number in the order in which effects settled for the handler,
w and such a number for what the handler withdrew, or, as long as no run has settled it, ?at_ms.revision for what arrived and - for what
has not. The digest is - when there is none. The mark is the fingerprint of an answer, ! before an outcome that is a bare word (begun, closed,
withdrawn), and - before any other. Large arguments stand with the journal, as `given` or
`arguments`: runs alone need them, and every look at the task would carry them.

Every script on one task gets the same first four KEYS. ]]
local task, journal, feed, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- Of a task by its id, and of the one that was created with an idempotency key. In the task's slot by the due set's name.
local TASK = string.gsub(due, 'due$', 'task:')
local ONCE = string.gsub(due, 'due$', 'once:')

-- What people left on pages, by ask key, sealed; there from an answer until the task ends or restarts. In the task's slot by its name.
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

-- Why the task has to be compensated, and whether the run that was open as it was cancelled has still to let go; nil for one that is owed nothing.
local function owed_state()
  local owed = redis.call('HGET', task, 'owed')
  if not owed then return nil end
  return { why = string.match(owed, '^%S+'), is_stopping = string.find(owed, ' stopping', 1, true) ~= nil }
end

-- The state if `token` is the one that the last begin drew, else nil (I5).
local function held_state(token)
  local state = read_state(task)
  if state and state.token == token then return state end
  return nil
end

local function is_finished(state)
  return state.status == 'completed' or state.status == 'failed' or state.status == 'cancelled'
end

-- What a writer is told that does not hold the task: it was cancelled under it, or somebody else has it.
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

-- An event, or a child, is open as an ask is, for no client to answer: its task is at work.
local EVENT, CALL = 'ask:event:', 'ask:call:'

local function is_question(field)
  return string.sub(field, 1, 4) == 'ask:' and string.sub(field, 1, #EVENT) ~= EVENT and string.sub(field, 1, #CALL) ~= CALL
end

-- Of a child: no name has a colon.
local function is_shown(field) return is_question(field) and string.find(field, ':', 5, true) ~= nil end

local function status_by_asks()
  for _, field in ipairs(open_asks()) do
    if is_question(field) then return 'input_required' end -- I3
  end
  return 'working'
end

-- What the script has changed that somebody outside may want to hear of, in the order in which it happened.
local happened = {}

local function happens(what, key) happened[#happened + 1] = key and what .. ':' .. key or what end

-- ── families: a task that another one called, its parent, and the root that a client called; all in one slot ──

local function is_child() return string.sub(task, -1) == '~' end

local function own_id() return string.sub(task, #TASK + 1) end

local function read_link()
  local parent, root, depth, key, path = string.match(redis.call('HGET', task, 'parent') or '', '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  return parent and { parent = parent, root = root, key = key, path = path }
end

-- Tasks that are worked on within the script's own: their changes at the root are told by it.
local nested = 0

local function on_task(id, work)
  local outer = { task, journal, feed, deposits, happened }
  task = TASK .. id
  journal, feed, deposits, happened = task .. ':journal', task .. ':feed', task .. ':deposits', {}
  nested = nested + 1
  local result = work()
  nested = nested - 1
  task, journal, feed, deposits, happened = unpack(outer)
  return result
end

-- What has changed of what the root shows: a script is about one family.
local at_root, root_id = {}, nil

local function changes_at_root(link, what, key, position)
  root_id = link.root
  at_root[#at_root + 1] = { what = what, key = link.path .. ':' .. key, id = own_id(), own = key, position = position }
end

-- What a child has stopped to ask is gone from the root at once, since who works on the root goes by it.
local function hide_at_root(link, what, key)
  redis.call('HDEL', TASK .. link.root, 'ask:' .. link.path .. ':' .. key)
  changes_at_root(link, what, key)
end

local cancel_child

-- An ask leaves with what is noted about it. `why` is what then has happened to it. False when it was not open. With a call its child is cancelled.
local function remove_ask(key, why, now_ms)
  local field = 'ask:' .. key
  local child_id = string.sub(field, 1, #CALL) == CALL and string.match(redis.call('HGET', task, field) or '', '^%S+')
  redis.call('HDEL', task, 'refused:' .. key, 'agreed:' .. key)
  local was_open = redis.call('HDEL', task, field, 'accepted:' .. key) > 0
  if not was_open then return false end
  happens(why, key)
  if child_id then cancel_child(child_id, now_ms) end
  if is_child() and is_question(field) then
    local link = read_link()
    if link then hide_at_root(link, why, key) end
  end
  return true
end

-- One that was answered since begin is in the journal and is not opened again; one that is open already stays as it was put: its deadline does not
-- move.
local function open_ask(state, key, digest, ask)
  local field = 'ask:' .. key
  if redis.call('HEXISTS', journal, field) == 1 then return end
  if redis.call('HSETNX', task, field, digest .. ' ' .. state.revision + 1 .. ' ' .. ask) == 0 then return end
  happens('asked', key)
  if is_child() and is_question(field) then
    local link = read_link()
    if link then changes_at_root(link, 'asked', key, string.match(ask, '^%S+ (%S+)')) end
  end
end

-- At the end of a task its open asks become entries, so that a late answer is told from an unknown one.
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

-- Here, and nowhere else, the outside hears of a task: once for each script that changed what can be seen, with what happened, under a revision
-- that is one more than the last. What has to hear of every change, such as a webhook or an audit, is fed from here (docs/adr/0011-one-place-that-tells.md).
-- The channel has the name of the task's hash. A wake-up can be lost; who is woken reads.
local function tell(state, now_ms)
  if nested == 0 and #at_root > 0 and not is_child() then
    for _, change in ipairs(at_root) do happens(change.what, change.key) end
    at_root = {}
  end
  state.revision = state.revision + 1
  state.updated_at_ms = now_ms
  redis.call(PUBLISH, task, state.revision .. ' ' .. table.concat(happened, ' '))
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
      happens(change.what, change.key)
    end
    at_root = {}
    root.status = status_by_asks()
    tell(root, now_ms)
    write_state(root)
  end)
end

-- Writes an audit record, unless it is ''. Records of a partition are numbered without a gap, so that one that is taken away is missed: the
-- number is the id in the stream. Its chain of hashes is made where it leaves Redis (docs/adr/0013-the-chain-is-made-outside.md).
--
-- Somebody may have taken away the newest one, or all. Redis refuses to give a number again, and the change that the record is about has been made by
-- then: the next number is the one behind the last that Redis gave, and the gap tells what happened.
local function audit(stream, record, length_max, now_ms, verdict)
  if record == '' then return end
  local function add(command, number)
    return command(
      'XADD', stream, 'MAXLEN', '~', length_max, string.format('%.0f', number) .. '-1',
      'at', now_ms, 'verdict', verdict, 'record', record
    )
  end
  local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  local added = add(redis.pcall, last and tonumber(string.match(last[1], '^%d+')) + 1 or 1)
  if type(added) ~= 'table' or not added.err then return end
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then add(redis.call, tonumber(string.match(info[i + 1], '^%d+')) + 1) end
  end
end

-- What the unfinished tasks of an owner, and of its tenant, take in this partition: hashes with `tasks`, `bytes` (what callers gave) and `waiting`
-- (tasks that never ran), there as long as there are such tasks. Only tasks of callers that can be told apart are counted. The keys are in the
-- task's slot by the due set's name, and known by the facts of the call.
local USAGE = string.gsub(due, 'due$', 'usage:')

local function usage_keys(facts)
  local owner = cjson.decode(facts)[3]
  local principal, tenant = owner, 'default'
  if type(owner) == 'table' then principal, tenant = owner[1], owner[2] end
  return { principal = USAGE .. 'principal:' .. principal, tenant = USAGE .. 'tenant:' .. tenant, has_tenant = tenant ~= 'default' }
end

-- Without what was given inline. JSON has no line feeds of its own.
local function call_facts()
  return string.match(redis.call('HGET', task, 'call'), '^[^\n]*')
end

local function use_less(facts, field, by)
  local keys = usage_keys(facts)
  for _, key in ipairs({ keys.principal, keys.tenant }) do
    -- One that was deleted begins anew: what was counted in it is not taken off what came later.
    local left = tonumber(redis.call('HGET', key, field) or 0)
    if left > 0 then redis.call('HSET', key, field, math.max(0, left - by)) end
    if field == 'tasks' and left <= by then redis.call('DEL', key) end
  end
end

-- At the end of a task. As much is taken off as was counted: a restart may have emptied the journal, and what was given with it.
local function stop_counting(state)
  if state.counted == '0' then return end
  local facts = call_facts()
  use_less(facts, 'bytes', tonumber(state.counted))
  if state.run == 0 then use_less(facts, 'waiting', 1) end
  use_less(facts, 'tasks', 1)
end

-- The retention begins with the end. All keys of a task expire together, those too that this script has just made, and none of them before
-- the end: a task that waits is never forgotten, however long nobody looks after it (I7). Nothing is written behind the expiry: where the
-- retention is over already the keys are gone at once, and a field written then would make a key that stays forever.
local function forget_task(state, task_id)
  redis.call('ZREM', due, task_id)
  local once = redis.call('HGET', task, 'once')
  if once then redis.call('PEXPIREAT', ONCE .. once, state.expires_at_ms) end
  redis.call('PEXPIREAT', task, state.expires_at_ms)
  redis.call('PEXPIREAT', journal, state.expires_at_ms)
  redis.call('PEXPIREAT', feed, state.expires_at_ms)
end

-- With `owes` the task stays due, and is not forgotten, until its last run has undone what was done. A run that is open as its task is cancelled
-- keeps its hold: it notes what it has in flight and parks, or its lease runs out.
local function end_task(state, task_id, status, now_ms, owes)
  close_asks(now_ms)
  if is_child() then
    local link = read_link()
    local family = link and TASK .. link.root
    if family and tonumber(redis.call('HGET', family, 'family') or 0) > 0 then redis.call('HINCRBY', family, 'family', -1) end
  end
  state.status = status
  local is_stopping = owes and status == 'cancelled' and state.token
  if not is_stopping then state.token = nil end
  if owes then
    redis.call('HSET', task, 'owed', is_stopping and owes .. ' stopping' or owes)
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
    forget_task(state, task_id)
  elseif not is_stopping then
    redis.call('ZADD', due, now_ms, task_id)
  end
end

local COMPENSATES = 2

-- Its parent has ended, or has given the call up.
function cancel_child(id, now_ms)
  on_task(id, function()
    local state = read_state(task)
    if not state or is_finished(state) then return end
    local compensates = math.floor(cjson.decode(call_facts())[5] / COMPENSATES) % 2 == 1
    -- What never ran has done nothing.
    end_task(state, id, 'cancelled', now_ms, compensates and state.run > 0 and 'cancelled' or nil)
  end)
end

-- The end of a child is the answer to its parent's call, as `mark outcome`; or `untold`, where all that children have told it would be more than told_max.
-- Returns the parent and its run that is due, unless there is none to add.
local function answer_parent(answer, now_ms, untold, told_max)
  local link, id = read_link(), own_id()
  if not link then return nil end
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
      if told > tonumber(told_max) then answer = untold else redis.call('HSET', task, 'told', told) end
    end
    redis.call('HSET', journal, field, table.concat({ '?' .. now_ms .. '.' .. state.revision, called_at, digest, answer }, ' '))
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

-- Whether the parent waits for the child: one that was taken away by hand does not.
local function is_wanted()
  local link = read_link()
  local call = link and redis.call('HGET', TASK .. link.parent, CALL .. link.key)
  return call and string.match(call, '^%S+') == own_id()
end

-- In characters: about what a task takes without them.
local GIVEN_INLINE_MAX = 1024

-- What the handler begins again with. Only for an empty journal.
local function write_arguments(text)
  local is_large = #text > GIVEN_INLINE_MAX
  if is_large then redis.call('HDEL', task, 'arguments') end
  redis.call('HSET', is_large and journal or task, 'arguments', text)
end

-- Lists in ARGV: a count, then that many groups of `width`. Returns the index behind the list.
local function each_group(at, width, take)
  local first = at + 1
  local after = first + tonumber(ARGV[at]) * width
  for i = first, after - 1, width do take(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  return after
end

local function write_field(field, value) redis.call('HSET', task, field, value) end

local function is_unsettled(place) return string.find(place, '^[?-]') ~= nil end

-- Writes the entries that ARGV lists from `at`: key and text of each, the text being an entry, or its place alone where the writer knows that
-- the journal holds the rest. An entry that is there keeps what it holds, and takes the place only if it has none: what was replayed once is
-- replayed forever. Only what has not come to anything yet (-), a sleep or a step that has begun, is replaced by its outcome. An ask that is
-- written as withdrawn is closed, which the caller must tell. Returns the index behind the list.
local function write_entries(at, now_ms)
  return each_group(at, 2, function(key, text)
    local place = string.match(text, '^%S+')
    if place == text or redis.call('HSETNX', journal, key, text) == 0 then
      local held = redis.call('HGET', journal, key)
      if held and string.sub(held, 1, 1) == '-' and place ~= text then
        redis.call('HSET', journal, key, text)
      elseif held and is_unsettled(held) and not is_unsettled(place) then
        redis.call('HSET', journal, key, place .. string.match(held, '^%S+(.*)$'))
      end
    end
    if string.sub(place, 1, 1) == 'w' and string.sub(key, 1, 4) == 'ask:' then remove_ask(string.sub(key, 5), 'withdrawn', now_ms) end
  end)
end
