-- Looks at a lock; changes nothing.
--
-- KEYS[1]  the lock, as in grant.lua
--
-- Returns {value, time left (ms)}, or nothing if it is free.

local value = redis.call('GET', KEYS[1])
return value and {value, redis.call('PTTL', KEYS[1])}
