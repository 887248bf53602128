--[[ task/tell.lua: tells others what a script has changed: whoever listens to the task, the outbox, and the audit. ]]

-- In outbox/post.lua.
local post

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
  if change.key then audiences[own_id() .. ' ' .. change.key] = audiences[change.id .. ' ' .. change.own] end
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
      local field = change.key and 'ask:' .. change.key
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
