--[[ task/entries.lua: writes arguments and journal entries. ]]

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
