--[[ journal.lua: what a journal holds, without what was said in it.

KEYS  task journal feed due

Returns the key of each entry and its first words in turn: place, called_at, digest, mark, and the outcome where that is a bare word.

It reads only, and settles no race: an entry that is written meanwhile is in it or not. Values stay in Redis, since a journal may hold
megabytes, and a timeline shows one line of each entry. ]]
local lines = {}
for _, key in ipairs(redis.call('HKEYS', journal)) do
  -- Beside entries the hash holds arguments that are large.
  if string.find(key, ':', 1, true) then
    local text = redis.call('HGET', journal, key)
    local words, bare = string.match(text, '^(%S+ %S+ %S+ !) (%S+)$')
    lines[#lines + 1] = key
    lines[#lines + 1] = words and words .. ' ' .. bare or string.match(text, '^%S+ %S+ %S+ %S+')
  end
end
return lines
