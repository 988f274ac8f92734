-- Extends a grant, if it still has the lock, so that it stands for at least some time from now;
-- never shortens it, and never makes it anew.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  the least time for which it must stand (ms)
--
-- Returns the time left (ms), or nothing if the owner does not have the lock.

local value = redis.call('LINDEX', KEYS[1], 0)
if value and string.sub(value, 1, 34) == ARGV[1] .. '|h' then
  local kept = tonumber(string.match(value, '^|%d+|(%d+)|', 35))
  if redis.call('PTTL', KEYS[1]) > kept then
    redis.call('PEXPIRE', KEYS[1], ARGV[2] + kept, 'GT')
    return redis.call('PTTL', KEYS[1]) - kept
  end
end
return nil
