--[[ purge.lua: deletes those of the listed tasks that are over and match, or only counts them.

KEYS  due due due due (only the fourth is read, as in every script)
ARGV  is_dry ('1' or ''), now_ms, ended_before_ms, then what has to match ('' matches everything): kind, name, principal, tenant, bytes_min;
      then ids of tasks

Returns {tool, principal, tenant, bytes, …} of each task that matches, with the tool as `kind name`.

A task that is unfinished, or has to be compensated, is never deleted. Nothing else refers to a task that is over: a parent has the end of its
child in its own journal, lists skip what is gone, and so does a repeated call. So the script may stop between two tasks, and run again.

A full Redis refuses commands that may need memory, and this is when operators need the script. It does so only until a script has written
something, since nothing could undo that, so tasks are deleted before their bytes are given back. ]]
local is_dry, now_ms, ended_before_ms = ARGV[1] == '1', ARGV[2], tonumber(ARGV[3])
local wanted = { kind = ARGV[4], name = ARGV[5], principal = ARGV[6], tenant = ARGV[7] }
local bytes_min = tonumber(ARGV[8])

local function facts_of(text)
  local is_read, facts = pcall(cjson.decode, text)
  if not is_read or type(facts) ~= 'table' then return { kind = '', name = '', principal = '', tenant = '' } end
  local owner = type(facts[3]) == 'table' and facts[3] or { facts[3], 'default' }
  return { kind = tostring(facts[1]), name = tostring(facts[2]), principal = tostring(owner[1]), tenant = tostring(owner[2]) }
end

local function matches(of)
  for what, value in pairs(wanted) do
    if value ~= '' and of[what] ~= value then return false end
  end
  return true
end

local found = {}
for i = 9, #ARGV do
  on_task(ARGV[i], function()
    local state = read_state(task)
    if not state or not is_finished(state) or tonumber(state.updated_at_ms) > ended_before_ms then return end
    if redis.call('HEXISTS', task, 'owed') == 1 then return end
    local text = call_facts()
    local of = facts_of(text)
    if not matches(of) then return end
    local bytes = 0
    for _, hash in ipairs({ task, journal }) do
      for _, each in ipairs(redis.call('HGETALL', hash)) do bytes = bytes + #each end
    end
    if bytes < bytes_min then return end
    local counted = state.counted ~= '0' and kept_size()
    local fed = counted and feed_size()
    if not is_dry then
      redis.call('DEL', task, journal, feed, deposits, task .. ':threads', task .. ':holder')
      if counted then give_back_kept(text, state, counted + KEPT_AT_LEAST, now_ms) end
      if counted and fed > 0 then give_back_kept(text, feed_lives(text, state, state.expires_at_ms - state.retention_ms), fed, now_ms) end
    end
    for _, each in ipairs({ of.kind .. ' ' .. of.name, of.principal, of.tenant, bytes }) do found[#found + 1] = each end
  end)
end
return found
