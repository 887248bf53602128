--[[ take.lua: takes tokens from a bucket that fills with time.

KEYS  bucket   hash: what is counted -> "tokens at_ms"; expires when it would be full
ARGV  what (is counted), now_ms, per_second (tokens), most (tokens in the bucket), wanted (tokens), least (tokens)

Returns {tokens taken, milliseconds until `least` are available}: all that are wanted, or fewer if at least `least` are there, or none.

A clock that is behind removes no tokens. ]]
local bucket, what, now_ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local per_second, most, wanted, least = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local tokens, at_ms = string.match(redis.call('HGET', bucket, what) or '', '^(%S+) (%S+)$')
tokens, at_ms = tonumber(tokens or most), tonumber(at_ms or now_ms)
tokens = math.min(most, tokens + math.max(0, now_ms - at_ms) * per_second / 1000)

local taken = math.min(wanted, math.floor(tokens))
local wait_ms = 0
if taken < least then
  wait_ms = math.ceil((least - tokens) * 1000 / per_second)
  taken = 0
end
redis.call('HSET', bucket, what, string.format('%.3f %.0f', tokens - taken, math.max(now_ms, at_ms)))
-- The hash may hold other counts that fill more slowly, so a take may only extend its expiry.
local full_ms = math.ceil(most * 1000 / per_second)
if redis.call('PTTL', bucket) < full_ms then redis.call('PEXPIRE', bucket, full_ms) end
return { taken, wait_ms }
