-- Ends the grant of an attempt: the lock goes to the first in line, or is free. Touches no other
-- grant. One whose time is over is released like any other, unless another got the lock after it.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  the time for which the name must stay taken (ms); left out: free at once
--
-- Returns 1, or 0 if the attempt did not have the lock.

local last = last_grant()
if not last or last.owner ~= ARGV[1] then
  return 0
end
if last.state == 'r' then
  return 1
end
if not ARGV[2] then
  free(last)
  return 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[2] + last.kept)
redis.call('LSET', KEYS[1], 0, text(last.owner, 'r', last.number, last.kept, last.holder))
local waiter = first()
if waiter and waiter.owner then
  tell(waiter, 0)
end
return 1
