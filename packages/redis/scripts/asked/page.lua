--[[ page.lua: lists open asks of one partition that were put to any of several names, in order.

KEYS  by_name  zset, as many for each name as there are offsets: `<task id> <ask key>` by the time of the ask, its deadline, or how an ask says that it
               ranks. The first sets of a name hold only asks that say so, the last one all
ARGV  direction (1: lowest first, -1: highest first), limit, after_at_ms and after_member ('' and '': from the start),
      task_key_prefix (followed by a task id, the key of the task's hash: same hash tag, same slot), then for each set of a name what is added
      to its scores, so that they are places of one order

Returns at most `limit` entries as {member, place, member, place, …}, and before them the number of entries that it looked at and did
not return because their asks are no longer open. Those are removed: a process of an older version closes asks and knows nothing of this index.
An entry whose ask has its place in an earlier set of that name is passed over. If these are more than one look may pass over, the last entry is one
of them, with a ~ behind its place: all before it were looked at, and the next page begins behind it.

One pass over the sets. As soon as there are enough entries, a set is read only up to the last of them, so that fifty groups with a thousand asks
each cost little more than one. ]]
local direction, limit, after_at_ms, after_member, task_key_prefix = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local sets_each = #ARGV - 5

-- Entries that one look passes over: 2 ms of Redis.
local PASSED_MAX = 2000

-- How many of each set may be passed over. Those of earlier sets of the name bound how many there are. If these are too many, each set has its part:
-- if the first took all, the look would end at the first entry of the last one, and go on by one entry at a time.
local may_pass, bounds = {}, 0
for at = 1, #KEYS do
  may_pass[at] = (at - 1) % sets_each == 0 and 0 or may_pass[at - 1] + redis.call('ZCARD', KEYS[at - 1])
  bounds = bounds + may_pass[at]
end
for at, most in ipairs(may_pass) do
  if bounds > PASSED_MAX then may_pass[at] = math.max(1, math.floor(PASSED_MAX * most / bounds)) end
end

local function is_before(at_ms, member, other_at_ms, other_member)
  if at_ms ~= other_at_ms then return (at_ms < other_at_ms) == (direction == 1) end
  if member == other_member then return false end
  return (member < other_member) == (direction == 1)
end

local command = direction == 1 and 'ZRANGEBYSCORE' or 'ZREVRANGEBYSCORE'
local first = direction == 1 and '-inf' or '+inf'
local finish = direction == 1 and '+inf' or '-inf'

-- Whether an earlier set of the same name has it.
local function is_elsewhere(at, member)
  for other = at - (at - 1) % sets_each, at - 1 do
    if redis.call('ZSCORE', KEYS[other], member) then return true end
  end
  return false
end

-- Nothing behind it is known: the first entry in order that was one too many to pass over.
local horizon = nil

-- Up to `limit` entries of one set, none behind the last of `best` if that is full, and none behind the horizon.
local function entries_of(at, best)
  local key, offset_ms = KEYS[at], tonumber(ARGV[6 + (at - 1) % sets_each])
  local last = best[limit]
  local start = after_at_ms ~= '' and string.format('%.0f', after_at_ms - offset_ms) or first
  local till = last and string.format('%.0f', last[1] - offset_ms) or finish
  local found, offset, passed = {}, 0, 0
  while #found < limit do
    local rows = redis.call(command, key, start, till, 'WITHSCORES', 'LIMIT', offset, limit)
    for i = 1, #rows, 2 do
      local member, at_ms = rows[i], rows[i + 1] + offset_ms
      local is_behind = after_at_ms == '' or is_before(tonumber(after_at_ms), after_member, at_ms, member)
      if is_behind and #found < limit then
        if horizon and is_before(horizon[1], horizon[2], at_ms, member) then return found end
        if not is_elsewhere(at, member) then
          found[#found + 1] = { at_ms, member }
        elseif passed < may_pass[at] then
          passed = passed + 1
        else
          horizon = { at_ms, member }
          return found
        end
      end
    end
    if #rows < 2 * limit then break end
    offset = offset + limit
  end
  return found
end

-- Puts an entry in its place, and lets go of what is beyond the page. The same entry under two names is one; an ask at two places is two
-- entries until it is known which counts.
local function insert(best, entry)
  local low, high = 1, #best + 1
  local last = best[#best]
  if last and is_before(last[1], last[2], entry[1], entry[2]) then low = high end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_before(best[middle][1], best[middle][2], entry[1], entry[2]) then low = middle + 1 else high = middle end
  end
  local there = best[low]
  if there and there[1] == entry[1] and there[2] == entry[2] then return end
  table.insert(best, low, entry)
  best[limit + 1] = nil
end

local best = {}
for at = 1, #KEYS do
  for _, entry in ipairs(entries_of(at, best)) do insert(best, entry) end
end

-- What was found before the horizon was as near as it is now.
while horizon and best[1] and is_before(horizon[1], horizon[2], best[#best][1], best[#best][2]) do best[#best] = nil end

local reply, gone = { 0 }, 0
for _, entry in ipairs(best) do
  local at_ms, member = entry[1], entry[2]
  local task_id, ask_key = string.match(member, '^(%S+) (.+)$')
  if task_id and redis.call('HEXISTS', task_key_prefix .. task_id, 'ask:' .. ask_key) == 1 then
    reply[#reply + 1] = member
    reply[#reply + 1] = string.format('%.0f', at_ms)
  else
    for _, key in ipairs(KEYS) do redis.call('ZREM', key, member) end
    gone = gone + 1
  end
end
if horizon and #best < limit then
  reply[#reply + 1] = horizon[2]
  reply[#reply + 1] = string.format('%.0f', horizon[1]) .. '~'
end
reply[1] = gone
return reply
