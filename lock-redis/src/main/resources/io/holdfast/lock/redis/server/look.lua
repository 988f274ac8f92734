-- Looks at a lock; changes nothing.
--
-- KEYS     as in key.lua
--
-- Returns {0, state, number, holder, time left (ms), owner id, how many are in line and alive}, or
-- nothing if it is free.

local found = redis.pcall('LRANGE', KEYS[1], 0, -1)
if found.err then
  -- If something else is under this key, there is no lock.
  return string.sub(found.err, 1, 9) ~= 'WRONGTYPE' and found or nil
end
local value = found[1]
if not value or string.sub(value, 1, 1) == '-' then
  return nil
end
local owner, state, number, kept, holder =
  string.match(value, '^(%x+)|(%a)|(%d+)|(%d+)|(.*)$')
if not kept then
  owner, state, number, kept, holder = '', 'h', '1', 0, value
end
local left = redis.call('PTTL', KEYS[1]) - kept
if left < 0 then
  return nil
end
local waiting = 0
if found[2] then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + clock[2] / 1000
  for i = 2, #found do
    local alive = string.match(found[i], '^%x+|(%d+)|')
    if not alive or tonumber(alive) > now then
      waiting = waiting + 1
    end
  end
end
return {0, state, tonumber(number), holder, left, owner, waiting}
