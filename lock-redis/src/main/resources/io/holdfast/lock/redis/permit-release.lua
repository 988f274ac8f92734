-- Ends the grant of an attempt: its permit goes to who is first in line, or is free. Touches nobody
-- else's. A grant whose time was over, and whose permit nobody got after it, is released as any other.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  for how long the permit must stay taken (ms); left out: free at once
--
-- Returns 1, or 0 if the attempt did not have a permit.

local sem = read()
local mine = sem and grant_of(sem.granted, ARGV[1])
if not mine then
  return 0
end
if mine.state == 'r' then
  return 1
end
if not ARGV[2] then
  tidy(sem, mine.owner)
  serve(sem)
  write(sem)
  return 1
end
mine.state = 'r'
mine.left = tonumber(ARGV[2])
write(sem)
local waiter = first()
if waiter then
  tell(waiter, '0|0')
end
return 1
