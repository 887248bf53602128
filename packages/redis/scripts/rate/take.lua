--[[ take.lua: takes tokens from buckets that fill with time: of every kind and from every bucket, or none at all.

KEYS  bucket   hash: what is counted -> "tokens at_ms"; expires when it would be full. One or more, in one slot
ARGV  now_ms, then for each kind: what (is counted), wanted (tokens), least (tokens), and for each bucket: per_second (tokens),
      most (tokens in the bucket)

Returns {0, tokens taken of each kind…}: all that are wanted, or fewer if every bucket has at least `least`. Otherwise
{milliseconds until a bucket has `least`, number of the bucket, number of the kind} for the longest wait.

One script, because a caller that one bucket refuses must not have paid at another. A request for more than a bucket can hold takes
all of it. A clock that is behind removes no tokens. ]]
local now_ms = tonumber(ARGV[1])

local kinds, refusal = {}, { 0 }
local next_arg = 2
while ARGV[next_arg] do
  local kind = { what = ARGV[next_arg], taken = tonumber(ARGV[next_arg + 1]), buckets = {} }
  local least = tonumber(ARGV[next_arg + 2])
  next_arg = next_arg + 3
  for number, key in ipairs(KEYS) do
    local per_second, most = tonumber(ARGV[next_arg]), tonumber(ARGV[next_arg + 1])
    next_arg = next_arg + 2
    local tokens, at_ms = string.match(redis.call('HGET', key, kind.what) or '', '^(%S+) (%S+)$')
    tokens, at_ms = tonumber(tokens or most), tonumber(at_ms or now_ms)
    tokens = math.min(most, tokens + math.max(0, now_ms - at_ms) * per_second / 1000)
    local lacks = math.min(least, most) - tokens
    local wait_ms = lacks > 0 and math.ceil(lacks * 1000 / per_second) or 0
    if wait_ms > refusal[1] then refusal = { wait_ms, number, #kinds + 1 } end
    kind.taken = math.min(kind.taken, math.floor(tokens))
    kind.buckets[number] = { tokens = tokens, at_ms = math.max(now_ms, at_ms), full_ms = math.ceil(most * 1000 / per_second) }
  end
  kinds[#kinds + 1] = kind
end
if refusal[1] > 0 then return refusal end

local reply = { 0 }
for _, kind in ipairs(kinds) do
  for number, bucket in ipairs(kind.buckets) do
    local key = KEYS[number]
    redis.call('HSET', key, kind.what, string.format('%.3f %.0f', bucket.tokens - kind.taken, bucket.at_ms))
    -- The hash may hold other counts that fill more slowly, so a take may only extend its expiry.
    if redis.call('PTTL', key) < bucket.full_ms then redis.call('PEXPIRE', key, bucket.full_ms) end
  end
  reply[#reply + 1] = kind.taken
end
return reply
