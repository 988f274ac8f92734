-- Extends a grant that is shared to its TTL from now if it still stands; never makes it anew.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
--
-- Returns 1, or 0 if the attempt does not have the lock.

local lock = read()
local mine = standing_of(lock, ARGV[1])
if not mine then
  return 0
end
mine.ends = lock.now + ARGV[2]
write(lock, mine)
return 1
