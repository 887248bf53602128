--[[ add.lua: adds one field of a kind whose number is limited, and wakes the watchers.

KEYS  session
ARGV  kind ('uri:' or 'task:'), name, most

Returns 'added' (also if the field existed) | 'full' | 'gone'.

Settles the race of two requests for the last free field, and the race with the end of the session. ]]
local kind, name, most = ARGV[1], ARGV[2], tonumber(ARGV[3])

if not is_open() then return 'gone' end
local field = kind .. name
if redis.call('HEXISTS', session, field) == 1 then return 'added' end
if not has_room(kind, most) then return 'full' end
redis.call('HSET', session, field, '')
tell()
return 'added'
