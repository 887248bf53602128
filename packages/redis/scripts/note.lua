--[[ note.lua: writes an audit record of an event that changes no task.

KEYS  task journal feed due (of any task of the partition)
      audit    stream  audit records of the partition
ARGV  audit_record, audit_length_max, now_ms

Returns 'noted'. ]]
audit(KEYS[5], ARGV[1], ARGV[2], ARGV[3], '')
return 'noted'
