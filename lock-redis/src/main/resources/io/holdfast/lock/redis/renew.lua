-- Extends a grant to its TTL from now if it still has the lock; never makes it anew.
--
-- KEYS[1]  the lock, as in grant.lua
-- KEYS[2]  the number of the last grant, which is kept for an hour longer
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
--
-- Returns 1, or 0 if the attempt does not have the lock.

local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, 32) == ARGV[1] and string.sub(value, 34, 34) ~= 'r' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[2] + 3600000)
  return 1
end
return 0
