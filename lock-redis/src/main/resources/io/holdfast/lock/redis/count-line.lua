-- Counts who is in line; changes nothing.
--
-- KEYS[1]  the line, as in grant.lua
--
-- Returns how many.

return redis.call('ZCARD', KEYS[1])
