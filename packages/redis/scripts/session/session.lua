--[[ session.lua: the words that the session scripts share; loaded in front of each of them.

A session is one hash with one expiry, set when it is opened and moved only by touch:
  session               principal, version, capabilities, client, as JSON; there as long as the session is
  level                 the log level that the client set
  uri:<uri>             a resource that it subscribed to
  task:<task id>        a task that its standalone stream tells about
  call:<request id>     task that carries a request under way
  stream:<name>         token lease_until_ms, while the stream is held
  asked:<task id>:<key> event refusals stream: where the question is put, as which event, and how often it had been refused then

A plain HSET that comes after the session was closed or has expired would make a hash without an expiry, which nobody ever deletes. So
a field is only ever added by a script that looks first. Removing a field creates nothing, and needs no look. ]]
local session = KEYS[1]

local function is_open() return redis.call('HEXISTS', session, 'session') == 1 end

-- Wakes those who watch the session. The channel has the name of the hash.
local function tell() redis.call(PUBLISH, session, '') end

-- Token and end of the lease of a stream that is held, or was until its holder died.
local function hold_of(stream)
  local hold = redis.call('HGET', session, 'stream:' .. stream)
  if not hold then return nil end
  local token, until_ms = string.match(hold, '^(.*) (%d+)$')
  return token, tonumber(until_ms)
end

-- Event, refusals and stream of a question that was put.
local function claim_of(ask)
  local claim = redis.call('HGET', session, 'asked:' .. ask)
  if not claim then return nil end
  local event, refusals, stream = string.match(claim, '^(%d+) (%d+) (.*)$')
  return tonumber(event), refusals, stream
end
