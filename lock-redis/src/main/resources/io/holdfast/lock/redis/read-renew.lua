-- Extends the grant of a reader to its TTL from now if it still has the lock; never makes it anew.
--
-- KEYS     as in grant.lua
-- ARGV     as of renew.lua
--
-- Returns 1, or 0 if the attempt does not have the lock.

local last = last_grant()
local readers = standing(readers_of(last, ARGV[1]))
local mine = grant_of(readers, ARGV[1])
if not mine or mine.state ~= 'h' or mine.left <= 0 then
  return 0
end
mine.left = tonumber(ARGV[2])
settle(last, readers)
return 1
