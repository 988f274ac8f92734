-- Ends the grant of an attempt: the lock goes to the first in line, or is free. Touches no other
-- grant. One whose time is over is released like any other, unless another got the lock after it.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  the time for which the name, or the permit, must stay taken (ms); left out: free at once
--
-- Returns 1, or 0 if the attempt did not have the lock.

local lock = read()
local mine = grant_of(lock, ARGV[1])
if not mine then
  return 0
end
if mine.state == 'r' then
  return 1
end
if not ARGV[2] then
  free(lock, mine)
  return 1
end
mine.state = 'r'
if mine == lock then
  redis.call('PEXPIRE', KEYS[1], ARGV[2] + lock.kept)
  redis.call('LSET', KEYS[1], 0, text(lock))
else
  mine.ends = lock.now + ARGV[2]
  write(lock, mine)
end
local waiter = first(lock)
if waiter and waiter.owner then
  tell(waiter, 0, 0)
end
return 1
