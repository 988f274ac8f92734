-- Looks at a lock; changes nothing.
--
-- KEYS     as in key.lua
--
-- Returns {permit, state, number, holder, time left (ms), owner id, mode} of each who has the lock,
-- and how many are in line and alive; or nothing if the lock is free.

local found = redis.pcall('LRANGE', KEYS[1], 0, -1)
if found.err then
  -- If something else is under this key, there is no lock.
  return string.sub(found.err, 1, 9) ~= 'WRONGTYPE' and found or nil
end
if not found[1] or string.match(found[1], '^%-|f') then
  return nil
end
local lock = read(found[1])
if lock.left < 0 then
  return nil
end
local shown = {}
if lock.state ~= 's' then
  shown[1] = {0, lock.state, tonumber(lock.number), lock.holder, lock.left, lock.owner, ''}
end
for _, grant in ipairs(lock.shared) do
  if grant.ends >= lock.now then
    shown[#shown + 1] = {
      grant.permit, grant.state, tonumber(grant.number), grant.holder, grant.ends - lock.now,
      grant.owner, lock.holder
    }
  end
end
local waiting = 0
local now = found[#lock.shared + 2] and now_millis()
for i = #lock.shared + 2, #found do
  local alive = string.match(found[i], '^%x+:?[rp]?%d*|(%d+)|')
  if not alive or tonumber(alive) > now then
    waiting = waiting + 1
  end
end
shown[#shown + 1] = waiting
return shown
