-- Extends a grant to a time from now if it still has the lock and would end before; never shortens
-- it, and never makes it anew.
--
-- KEYS[1]  the lock, as in grant.lua
-- KEYS[2]  the number of the last grant, which is kept for an hour longer
-- ARGV[1]  owner id
-- ARGV[2]  for how long it must stand at least (ms)
--
-- Returns the time left (ms), or nothing if the owner does not have the lock.

local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, 32) == ARGV[1] and string.sub(value, 34, 34) ~= 'r' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  redis.call('PEXPIRE', KEYS[2], ARGV[2] + 3600000, 'GT')
  return redis.call('PTTL', KEYS[1])
end
return nil
