-- Ends the grant with a certain number, minimum hold or not; the lock goes to the first in line,
-- or is free.
--
-- KEYS     as in key.lua
-- ARGV[1]  number of the grant
--
-- Returns 1, or 0 if that grant did not have the lock.

local last = last_grant()
if is_taken(last) and last.number == ARGV[1] then
  free(last)
  return 1
end
return 0
