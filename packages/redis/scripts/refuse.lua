--[[ refuse.lua: notes that a reply to an open ask was invalid, so that the question is asked again.

KEYS  task journal feed due
      audit    stream  audit records of the partition
ARGV  key, digest (of the ask that the reply was checked against), violations (sealed), now_ms,
      audit_record ('': none), audit_length_max

Returns how often the ask was refused, this time included; nil if the ask is no longer open.

Settles the race between an invalid reply and a valid one: after the answer nothing is noted, so a settled question is not asked again. A
refusal that is sent twice counts twice. The count only limits clients that repeat invalid replies, and need not be exact.]]
local key, digest, violations, now_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local state = read_state(task)
local ask = state and redis.call('HGET', task, 'ask:' .. key)
if not ask or string.match(ask, '^%S+') ~= digest then return nil end -- I4

local before = redis.call('HGET', task, 'refused:' .. key)
local count = (before and tonumber(string.match(before, '^%d+')) or 0) + 1
write_field('refused:' .. key, count .. ' ' .. state.revision + 1 .. ' ' .. violations)
happens_to_ask('refused', key)
tell(state, now_ms)
write_state(state)
audit(KEYS[5], ARGV[5], ARGV[6], now_ms, 'refused')
return count
