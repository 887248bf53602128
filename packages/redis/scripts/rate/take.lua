--[[ take.lua: takes from a bucket that fills with time.

KEYS  bucket   hash: what is counted → "tokens at_ms"; gone once it would be full
ARGV  what is counted, now_ms, tokens per second, most tokens in the bucket, tokens wanted, how many of them at least

Returns {tokens taken, milliseconds until there is enough for the least}: all that is wanted, or what there is if that is the least, or none.

A clock that is behind takes nothing back. ]]
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
-- Other counts may be in there that fill more slowly: each take keeps the bucket for as long as its own needs.
local full_ms = math.ceil(most * 1000 / per_second)
if redis.call('PTTL', bucket) < full_ms then redis.call('PEXPIRE', bucket, full_ms) end
return { taken, wait_ms }
