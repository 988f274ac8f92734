-- Looks at a semaphore; changes nothing.
--
-- KEYS     as in permits.lua
--
-- Returns {permit, state, number, holder, time left (ms)} for each permit that is taken.

local held = {}
-- What somebody else keeps under this key is no semaphore.
if redis.call('TYPE', KEYS[1]).ok == 'list' then
  local sem = read()
  for _, grant in ipairs(sem and sem.granted or {}) do
    if grant.ends >= NOW then
      held[#held + 1] =
        {grant.permit, grant.state, tonumber(grant.number), grant.holder, grant.ends - NOW}
    end
  end
end
return held
