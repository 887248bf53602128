--[[ task.lua: what the scripts of tasks share; loaded in front of each of them, with task/asks, tell, usage, end and entries behind it.

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

-- What all keys of the partition begin with, from the due set's key.
local OF_SLOT = string.sub(due, 1, -#'due' - 1)

-- Prefixes of keys: of a task, by its id, and of the task that was created with an idempotency key.
local TASK = OF_SLOT .. 'task:'
local ONCE = OF_SLOT .. 'once:'

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

-- Changes to what the root shows: to asks of its children, and `reported`, to their status. A script concerns one family, so there is one root.
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
