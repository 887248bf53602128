--[[ session.lua: what the session scripts share; loaded in front of each of them.

A session is one hash with one expiry, which is set when the session is opened and extended only by touch:
  session               principal, version, capabilities, client, as JSON; present as long as the session exists
  level                 the log level that the client set
  uri:<uri>             a resource that the client subscribed to; a long uri is there as its digest
  task:<task id>        a task that the standalone stream reports on
  call:<request id>     the task that carries a request in progress, or 'cancelled' for one that was cancelled before it had a task
  stream:<name>         token lease_until_ms, while the stream is held
  asked:<task id>:<key> event refusals stream: the stream on which the question is asked, as which event, and how often it had been refused by then

A plain HSET after the session has ended or expired would create a hash without an expiry, which would never be deleted. Fields are
therefore added only by scripts that check first. Removing a field creates nothing and needs no check.]]
local session = KEYS[1]

local function is_open() return redis.call('HEXISTS', session, 'session') == 1 end

local CANCELLED = 'cancelled'

-- Whether one more field of a kind fits. Fields are counted only if there could be too many of this kind. Few sessions ever have that many
-- fields of all kinds together.
local function has_room(kind, most)
  if redis.call('HLEN', session) <= most then return true end
  local count = 0
  for _, each in ipairs(redis.call('HKEYS', session)) do
    if string.sub(each, 1, #kind) == kind then count = count + 1 end
  end
  return count < most
end

-- Wakes the watchers of the session. The channel has the name of the hash.
local function tell() redis.call(PUBLISH, session, '') end

-- The token and the end of the lease of a stream that is held, or was held until its holder died.
local function read_hold(hold)
  local token, until_ms = string.match(hold, '^(.*) (%d+)$')
  return token, tonumber(until_ms)
end

local function hold_of(stream)
  local hold = redis.call('HGET', session, 'stream:' .. stream)
  if hold then return read_hold(hold) end
end

-- The event, refusals and stream of a question that was asked.
local function read_claim(claim)
  local event, refusals, stream = string.match(claim, '^(%d+) (%d+) (.*)$')
  return tonumber(event), refusals, stream
end
