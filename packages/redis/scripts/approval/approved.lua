--[[ approved.lua: keeps what the last approved call of a kind was.

KEYS  index   sorted set   ids of the tenant's kinds of calls, by when (ms) the last one was approved
      call    string       JSON of the call, with its arguments sealed (callers/last-approved.ts)
ARGV  id, approved_at_ms, value, keep_ms, count_max, prefix of the keys of calls

Returns 'kept' | 'older'. Of two at once the later approval stays, whichever is written last. Calls beyond the count are deleted by name: they are in
the slot of the tenant. ]]
local index, call = KEYS[1], KEYS[2]
local id, approved_at_ms, value, keep_ms, count_max, prefix = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

local before = redis.call('ZSCORE', index, id)
if before and tonumber(before) > approved_at_ms then return 'older' end
redis.call('ZREMRANGEBYSCORE', index, '-inf', approved_at_ms - keep_ms)
redis.call('ZADD', index, approved_at_ms, id)
redis.call('PEXPIRE', index, keep_ms)
redis.call('SET', call, value, 'PX', keep_ms)
while redis.call('ZCARD', index) > count_max do
  local oldest = redis.call('ZPOPMIN', index)[1]
  redis.call('DEL', prefix .. oldest)
end
return 'kept'
