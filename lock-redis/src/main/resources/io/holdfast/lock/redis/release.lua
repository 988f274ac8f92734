-- Ends the grant of an attempt: the lock goes to who is first in line, or is free. Touches nobody
-- else's.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id
-- ARGV[2]  for how long the name must stay taken (ms); left out: free at once
--
-- Returns 1, or 0 if the attempt did not have the lock.

-- release-alone.lua has got the value.
if not has(value, ARGV[1]) then
  return 0
end
if is_released(value) then
  return 1
end
if not ARGV[2] then
  free()
  return 1
end
redis.call('SET', KEYS[1], string.sub(value, 1, 33) .. 'r' .. string.sub(value, 35), 'PX', ARGV[2])
local waiter = first()
if waiter then
  tell(waiter, 0)
end
return 1
