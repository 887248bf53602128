--[[ waiting.lua: which of a principal's tasks wait for an answer.

KEYS  owner   stream: the tasks of one principal in one partition
ARGV  before (the id of an entry; + from the newest), count, task_key_prefix (followed by a task id, the key of the task's hash: same slot)

Returns {how many entries it read, id of the last of them or '' if there are no more, then task id, revision, task id, revision, …}, the newest first.

One script, because somebody may have a thousand tasks, and every list of what they are asked goes through all of them. ]]
local entries = redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', ARGV[2])
local reply = { #entries, #entries == tonumber(ARGV[2]) and entries[#entries][1] or '' }
for _, entry in ipairs(entries) do
  local task_id = entry[2][2]
  local revision = string.match(redis.call('HGET', ARGV[3] .. task_id, 'state') or '', '^input_required (%d+)')
  if revision then
    reply[#reply + 1] = task_id
    reply[#reply + 1] = revision
  end
end
return reply
