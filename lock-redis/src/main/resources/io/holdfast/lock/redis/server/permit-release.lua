-- Ends the grant of an attempt: its permit goes to the first in line, or is free. Touches no other
-- grant. One whose time is over is released like any other, unless it was dropped meanwhile.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  the time for which the permit must stay taken (ms); left out: free at once
--
-- Returns 1, or 0 if the attempt did not have a permit.

local sem = read()
local mine = grant_of(sem, ARGV[1])
if not mine then
  return 0
end
if mine.state == 'r' then
  return 1
end
if ARGV[2] then
  keep(sem, ARGV[2])
  redis.call('LSET', KEYS[1], mine.index,
    text(mine.owner, 'r', mine.permit, NOW + ARGV[2], mine.number, mine.holder))
  for _, waiter in ipairs(sem.line) do
    if waiter.alive > NOW then
      tell(waiter, 0, 0)
      break
    end
  end
  return 1
end
tidy(sem, mine.owner)
serve(sem)
return 1
