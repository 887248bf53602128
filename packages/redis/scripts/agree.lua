--[[ agree.lua: notes that the person agreed to visit the page of an open ask. The ask stays open until the page is completed.

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  key, digest (of the ask that was shown), now_ms, audit_record ('': none), audit_length_max

Returns 'accepted' | 'duplicate' | 'late'.

Settles the race between the client's consent and the page: once the page is completed, no open ask is left to note anything about. ]]
local key, digest, now_ms = ARGV[1], ARGV[2], ARGV[3]

local function agree()
  local state = read_state(task)
  local ask = state and redis.call('HGET', task, 'ask:' .. key)
  if not ask or string.match(ask, '^%S+') ~= digest then return 'late' end -- I4
  if redis.call('HSETNX', task, 'agreed:' .. key, 1) == 0 then return 'duplicate' end
  happens_to_ask('agreed', key)
  tell(state, now_ms)
  write_state(state)
  return 'accepted'
end

local reply = agree()
audit(KEYS[5], ARGV[4], ARGV[5], now_ms, reply == 'accepted' and 'agreed' or reply)
return reply
