-- Ends the grant with a certain number, be it a writer's or a reader's, minimum hold or not; the lock
-- goes to who is first in line, or is free.
--
-- KEYS     as in grant.lua
-- ARGV[1]  number of the grant
--
-- Returns 1, or 0 if that grant did not have the lock.

local last = last_grant()
if stands(last) and last.state ~= 's' and last.number == ARGV[1] then
  settle(last, {})
  return 1
end
local readers = standing(readers_of(last))
for _, reader in ipairs(readers) do
  if reader.number == ARGV[1] then
    settle(last, standing(readers, reader.owner))
    return 1
  end
end
return 0
