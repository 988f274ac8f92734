-- Looks at a lock for all who have it, one writer or any number of readers; changes nothing.
--
-- KEYS     as in grant.lua
--
-- Returns {0, state, number, holder, time left (ms)} for each, in the order of the numbers.

local held = {}
local value = redis.pcall('LINDEX', KEYS[1], 0)
if type(value) == 'table' and value.err then
  -- What somebody else keeps under this key is no lock.
  return string.sub(value.err, 1, 9) ~= 'WRONGTYPE' and value or held
end
local last = last_grant()
for _, one in ipairs(standing(readers_of(last, last and last.owner))) do
  held[#held + 1] = {0, one.state, tonumber(one.number), one.holder, one.left}
end
return held
