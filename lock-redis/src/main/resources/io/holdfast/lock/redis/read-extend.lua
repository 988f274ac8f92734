-- Extends the grant of a reader to a time from now if it still has the lock and would end before; never
-- shortens it, and never makes it anew.
--
-- KEYS     as in grant.lua
-- ARGV     as of extend.lua
--
-- Returns the time left (ms), or nothing if the owner does not have the lock.

local last = last_grant()
local readers = standing(readers_of(last, ARGV[1]))
local mine = grant_of(readers, ARGV[1])
if not mine or mine.state ~= 'h' or mine.left <= 0 then
  return nil
end
mine.left = math.max(mine.left, tonumber(ARGV[2]))
-- In any case: it also tells apart a server that takes writes.
settle(last, readers)
return mine.left
