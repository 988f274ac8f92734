-- Ends the grant with a certain number, minimum hold or not; the lock goes to who is first in line,
-- or is free.
--
-- KEYS     as in grant.lua
-- ARGV[1]  number of the grant
--
-- Returns 1, or 0 if that grant did not have the lock.

local value = redis.call('GET', KEYS[1])
if value and number_of(value) == ARGV[1] then
  free()
  return 1
end
return 0
