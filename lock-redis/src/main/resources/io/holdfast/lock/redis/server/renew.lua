-- Extends a grant to its TTL from now if it still has the lock; never makes it anew.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
--
-- Returns 1, or 0 if the attempt does not have the lock.

local value = redis.call('LINDEX', KEYS[1], 0)
if value and string.sub(value, 1, 34) == ARGV[1] .. '|h' then
  local kept = tonumber(string.match(value, '^|%d+|(%d+)|', 35))
  if redis.call('PTTL', KEYS[1]) > kept then
    redis.call('PEXPIRE', KEYS[1], ARGV[2] + kept)
    return 1
  end
end
return 0
