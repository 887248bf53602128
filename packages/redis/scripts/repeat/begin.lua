--[[ begin.lua: begins a request with an idempotency key, unless it was done or is being done.

KEYS  repeats   hash   digest of a key -> `began_ms until_ms fingerprint reply`; the reply is empty while the request is underway
ARGV  key, fingerprint, now_ms, lease_ms, kept_ms, most

Returns {'begun'} | {'underway'} | {'other'} (the key belongs to another request) | {'ended', reply}

Settles the race of two requests with the same key: only one begins. If the process that does it dies, the lease runs out and the next
one begins. ]]
local key, fingerprint, now_ms, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[6])

local function read(known)
  local began_ms, until_ms, of, reply = string.match(known, '^(%d+) (%d+) (%S+) (.*)$')
  return tonumber(began_ms), tonumber(until_ms), of, reply
end

local known = redis.call('HGET', KEYS[1], key)
if known then
  local _, until_ms, of, reply = read(known)
  if until_ms > now_ms then
    if of ~= fingerprint then return { 'other' } end
    if reply == '' then return { 'underway' } end
    return { 'ended', reply }
  end
elseif redis.call('HLEN', KEYS[1]) >= most then
  local all, oldest, since = redis.call('HGETALL', KEYS[1]), nil, nil
  for at = 1, #all, 2 do
    local began_ms = read(all[at + 1])
    if not since or began_ms < since then oldest, since = all[at], began_ms end
  end
  redis.call('HDEL', KEYS[1], oldest)
end
redis.call('HSET', KEYS[1], key, string.format('%d %d %s ', now_ms, now_ms + ARGV[4], fingerprint))
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'begun' }
