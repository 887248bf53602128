--[[ task.lua: the words that the scripts share; loaded in front of each of them.

A task's hash holds
  state        status revision run updated_at_ms expires_at_ms retention_ms attempt [token answers]
  call         what was called, as JSON; written by create alone
  ask:<key>    an open ask: digest run JSON
  refused:<key>   how often replies to an open ask did not fit, and what was wrong with the last: count JSON
  message, immediate, outcome   when there is one

The state is one field because a field costs 64 bytes of its own: with nine fields a parked task takes 500 bytes more. Token and answers
(how many came since begin, other than the holder's own) are there exactly while a run is open.

Every script on one task gets the same first four KEYS. ]]
local task, journal, feed, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

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
    token = word[8],
    answers = tonumber(word[9]),
  }
end

local function write_state(state)
  local words = {
    state.status, state.revision, state.run, state.updated_at_ms, state.expires_at_ms, state.retention_ms, state.attempt,
    state.token, state.token and state.answers,
  }
  redis.call('HSET', task, 'state', table.concat(words, ' '))
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

-- An unfinished task outlives its next due time by its retention. The expiry never moves back while the task is unfinished (I7).
local function outlive(state, due_at_ms)
  local expires_at_ms = due_at_ms + state.retention_ms
  if expires_at_ms > tonumber(state.expires_at_ms) then state.expires_at_ms = string.format('%.0f', expires_at_ms) end
end

-- All keys of a task expire together (I7), those too that this script has just made.
local function expire_together(state)
  redis.call('PEXPIREAT', task, state.expires_at_ms)
  redis.call('PEXPIREAT', journal, state.expires_at_ms)
  redis.call('PEXPIREAT', feed, state.expires_at_ms)
end

local function open_asks()
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', task)) do
    if string.sub(field, 1, 4) == 'ask:' then fields[#fields + 1] = field end
  end
  return fields
end

local function status_by_asks()
  return #open_asks() > 0 and 'input_required' or 'working' -- I3
end

-- An ask leaves with what is noted about it. 0 when it was not open.
local function remove_ask(key)
  redis.call('HDEL', task, 'refused:' .. key)
  return redis.call('HDEL', task, 'ask:' .. key)
end

-- At the end of a task its open asks become entries, so that a late answer is told from an unknown one.
local function close_asks()
  for _, field in ipairs(open_asks()) do
    local digest = string.match(redis.call('HGET', task, field), '^%S+')
    redis.call('HSETNX', journal, field, digest .. ' {"type":"closed"}')
    remove_ask(string.sub(field, 5))
  end
end

-- A change that clients can see. The channel has the name of the task's hash.
local function tell(state, now_ms)
  state.revision = state.revision + 1
  state.updated_at_ms = now_ms
  redis.call('PUBLISH', task, state.revision)
end

-- Lists in ARGV: a count, then that many groups of `width`. Returns the index behind the list.
local function each_group(at, width, take)
  local first = at + 1
  local after = first + tonumber(ARGV[at]) * width
  for i = first, after - 1, width do take(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  return after
end

local function write_field(field, value) redis.call('HSET', task, field, value) end

-- An entry that is there stays: what was replayed once is replayed for ever.
local function write_entry(key, entry) redis.call('HSETNX', journal, key, entry) end
