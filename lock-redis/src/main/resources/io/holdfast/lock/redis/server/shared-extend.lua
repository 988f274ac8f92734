-- Extends a grant that is shared, if it still stands, so that it stands for at least some time from
-- now; never shortens it, and never makes it anew.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  the least time for which it must stand (ms)
--
-- Returns the time left (ms), or nothing if the attempt does not have the lock.

local lock = read()
local mine = standing_of(lock, ARGV[1])
if not mine then
  return nil
end
-- Always a write, so that a replica refuses it.
mine.ends = math.max(mine.ends, lock.now + ARGV[2])
write(lock, mine)
return mine.ends - lock.now
