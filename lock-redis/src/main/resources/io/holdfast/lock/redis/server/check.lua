-- Tells the facts about the server that decide whether it is used.
--
-- Returns its version, as major * 65536 + minor * 256 + patch, 0 before Redis 7.0; and 1 or 0 for
-- with or without an append-only file, nothing if it does not tell.

local info = redis.pcall('INFO', 'persistence')
local append_only = type(info) == 'string' and string.match(info, 'aof_enabled:(%d)')
return {redis.REDIS_VERSION_NUM or 0, append_only or ''}
