-- Ends the grant of a reader; when that was the last one, the lock goes to who is first in line, or is
-- free. Touches nobody else's. A grant whose time was over, and after which nobody got the lock, is
-- released as any other.
--
-- KEYS     as in grant.lua
-- ARGV     as of release.lua
--
-- Returns 1, or 0 if the attempt did not have the lock.

local last = last_grant()
local readers = readers_of(last, ARGV[1])
local mine = grant_of(readers, ARGV[1])
if not mine then
  return 0
end
if mine.state == 'r' then
  return 1
end
if not ARGV[2] then
  settle(last, standing(readers, mine.owner))
  return 1
end
mine.state = 'r'
mine.left = tonumber(ARGV[2])
settle(last, standing(readers))
local waiter = first()
if waiter then
  tell(waiter, 0)
end
return 1
