--[[ overdue.lua: lists the runs of one partition that should have begun and did not, oldest first; if there are more than `limit`, a selection.

KEYS  due due due due (only the fourth is read, as in every script)
ARGV  now_ms, limit, task_key_prefix (followed by a task id, the key of the task's hash: same hash tag, same slot)

Returns {task_id, run, share, task_id, run, share, …}. The share takes turns with others: '' for a task that quotas do not count.

If there are more than `limit`, most of them are new tasks that wait in the queue for a worker and stay overdue until one begins them. If only the
oldest were listed, a sleep that ends or a lease that runs out would wait behind all of them. Half of the listed runs are therefore those that
became due last, and the others are a page of the rest that changes from sweep to sweep.

Only tasks that no longer exist leave the set. A sweep that dies after this script has therefore lost nothing, and two sweeps at once list
the same runs, which are the same jobs. ]]
local now_ms, limit, task_key_prefix = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local function overdue()
  local count = redis.call('ZCOUNT', due, '-inf', now_ms)
  if count <= limit then return redis.call('ZRANGEBYSCORE', due, '-inf', now_ms) end
  local newest = math.floor(limit / 2)
  local size, rest = limit - newest, count - newest
  local first = now_ms % math.ceil(rest / size) * size
  -- By rank, because an offset into a range of scores is counted from its beginning: 18 ms for 300,000 tasks, each second.
  local found = redis.call('ZRANGE', due, first, math.min(first + size, rest) - 1)
  for _, task_id in ipairs(redis.call('ZRANGE', due, rest, count - 1)) do found[#found + 1] = task_id end
  return found
end

local function share_of(key)
  local is_read, facts = pcall(cjson.decode, string.match(redis.call('HGET', key, 'call') or '', '^[^\n]*'))
  local owner = is_read and facts[3]
  if type(owner) == 'table' and owner[2] ~= 'default' then return 'tenant:' .. owner[2] end
  if type(owner) == 'table' then owner = owner[1] end
  return type(owner) == 'string' and 'principal:' .. owner or nil
end

local runs = {}
for _, task_id in ipairs(overdue()) do
  local state = read_state(task_key_prefix .. task_id)
  if not state or is_finished(state) and redis.call('HEXISTS', task_key_prefix .. task_id, 'owed') == 0 then
    redis.call('ZREM', due, task_id)
  else
    runs[#runs + 1] = task_id
    runs[#runs + 1] = state.token and state.run or state.run + 1
    runs[#runs + 1] = state.counted ~= '0' and share_of(task_key_prefix .. task_id) or ''
  end
end
return runs
