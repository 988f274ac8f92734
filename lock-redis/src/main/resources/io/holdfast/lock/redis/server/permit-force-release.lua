-- Ends the grant with a certain number, minimum hold or not; its permit goes to the first in line,
-- or is free.
--
-- KEYS     as in permits.lua
-- ARGV[1]  number of the grant
--
-- Returns 1, or 0 if that grant did not have a permit.

local sem = read()
for _, grant in ipairs(sem and sem.granted or {}) do
  if grant.number == ARGV[1] and grant.ends >= NOW then
    tidy(sem, grant.owner)
    serve(sem)
    return 1
  end
end
return 0
