-- Extends a grant to a time from now if it still has its permit and would end before; never shortens
-- it, and never makes it anew.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  for how long it must stand at least (ms)
--
-- Returns the time left (ms), or nothing if the owner does not have a permit.

local sem = read()
local mine = sem and grant_of(sem.granted, ARGV[1])
if not mine or mine.state ~= 'h' or mine.left <= 0 then
  return nil
end
mine.left = math.max(mine.left, tonumber(ARGV[2]))
-- In any case: it also tells apart a server that takes writes.
write(sem)
return mine.left
