-- Looks at a semaphore; changes nothing.
--
-- KEYS     as in permits.lua
--
-- Returns {permit, state, number, holder, time left (ms)} for each permit that is taken.

local held = {}
local header = redis.pcall('LINDEX', KEYS[1], 0)
if type(header) == 'table' and header.err then
  -- If something else is under this key, there is no semaphore.
  return string.sub(header.err, 1, 9) ~= 'WRONGTYPE' and header or held
end
local sem = read()
for _, grant in ipairs(sem and sem.granted or {}) do
  if grant.ends >= NOW then
    held[#held + 1] =
      {grant.permit, grant.state, tonumber(grant.number), grant.holder, grant.ends - NOW}
  end
end
return held
