-- Ends the grant with a certain number, minimum hold or not; the lock goes to the first in line,
-- or is free.
--
-- KEYS     as in key.lua
-- ARGV[1]  number of the grant
--
-- Returns 1, or 0 if that grant did not have the lock.

local lock = read()
for _, grant in ipairs(lock and lock.state == 's' and lock.shared or {lock}) do
  local left = grant.left or grant.ends - lock.now
  if grant.number == ARGV[1] and left >= 0 then
    free(lock, grant)
    return 1
  end
end
return 0
