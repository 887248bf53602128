--[[ post.lua: what the scripts of tasks write into the outbox; loaded behind task/*.lua, in front of each of them.

The outbox has what other systems may want to hear, in the order in which it happened, without content. It exists if OUTBOX_MAX is not 0
(docs/adr/0026-events-are-read-from-an-outbox.md). An entry is JSON: the task's id, its revision, the time, its kind, name, owner and flags, and
the changes, each followed by a line feed and the words of its audience if it has one (task/asks.lua, `audiences`): digests, and of an approval `!approval`,
of an ask that says so `!due=…` and `!priority=…`; behind them, once an approval was answered, `!given`, `!refused` or `!closed`. `tell` in task/tell.lua posts, in the change itself. ]]
local OUTBOX = OF_SLOT .. 'outbox'
local OUTSIDE = { asked = 1, answered = 1, overdue = 1, withdrawn = 1, closed = 1, completed = 1, failed = 1, cancelled = 1, spent = 1, void = 1 }

-- To whom this script has handed on an ask of its own task: its key, a line feed, the digests of their names.
local handed_on

-- What this script has done around an ask that others may hear of, separated by spaces: their names in the outbox.
local thread_tells = ''

-- Of the answer that this script records: `given`, `refused` or, if it was dismissed, `closed`, where it is to an approval.
local answered_as = ''

function post(state, now_ms)
  local changes = {}
  if handed_on and nested == 0 then changes[1] = 'handed:' .. handed_on end
  for _, change in ipairs(happened) do
    local what, key = string.match(change, '^(%a+):?(.*)$')
    if what == 'thread' then
      local names = audiences[own_id() .. ' ' .. key]
      for word in string.gmatch(thread_tells, '%S+') do
        changes[#changes + 1] = word .. ':' .. key .. (names and '\n' .. names or '')
      end
    end
    if OUTSIDE[what] and (key == '' or is_question('ask:' .. key)) then
      local names = audiences[own_id() .. ' ' .. key]
      local as = what == 'answered' and answered_as ~= '' and is_approval(names) and ' !' .. answered_as or ''
      changes[#changes + 1] = names and change .. '\n' .. names .. as or change
    end
  end
  if #changes == 0 then return end
  -- Without what was given with the call, and without the seed, which is secret.
  local is_read, facts = pcall(cjson.decode, string.match(redis.call('HGET', task, 'call'), '^[^\n]*'))
  if not is_read then return end -- damaged, so nobody's
  local entry = cjson.encode({ own_id(), state.revision, now_ms, facts[1], facts[2], facts[3], facts[5], changes })
  redis.call('XADD', OUTBOX, 'MAXLEN', '~', OUTBOX_MAX, '*', 'e', entry)
  redis.call('PEXPIRE', OUTBOX, OUTBOX_MS)
end
