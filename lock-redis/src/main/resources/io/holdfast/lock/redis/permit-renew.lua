-- Extends a grant to its TTL from now if it still has its permit; never makes it anew.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
--
-- Returns 1, or 0 if the attempt does not have a permit.

local sem = read()
local mine = sem and grant_of(sem.granted, ARGV[1])
if not mine or mine.state ~= 'h' or mine.left <= 0 then
  return 0
end
mine.left = tonumber(ARGV[2])
write(sem)
return 1
