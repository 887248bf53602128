--[[ journal.lua: reads what a journal holds, without the content.

KEYS  task journal feed due

Returns the key of each entry and its first words in turn: place, called_at, digest, mark, and the outcome if it is a bare word, or -.

It only reads. An entry that is written at the same time is included or not. Values stay in Redis, because a journal may hold megabytes
and a timeline shows one line per entry. ]]
local lines = {}
for _, key in ipairs(redis.call('HKEYS', journal)) do
  -- The hash also holds large arguments, whose field names have no colon.
  if string.find(key, ':', 1, true) then
    lines[#lines + 1] = key
    lines[#lines + 1] = line_of(redis.call('HGET', journal, key))
  end
end
for line in string.gmatch(redis.call('HGET', task, 'lines') or '', '[^\n]+') do
  local words, key = string.match(line, '^(.*) (%S+)$')
  lines[#lines + 1] = key
  lines[#lines + 1] = words
end
return lines
