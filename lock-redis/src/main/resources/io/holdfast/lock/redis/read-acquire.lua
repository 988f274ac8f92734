-- Takes the lock for a reader if no writer has it and nobody stands in line before, but readers that
-- enter with it; else joins the line, if told to. To send it again changes nothing but the time, which
-- it never shortens: it confirms what the attempt has, lock or place.
--
-- KEYS     as in grant.lua
-- ARGV     as of acquire.lua
--
-- Returns what that does.

local owner, ttl, holder = ARGV[1], tonumber(ARGV[2]), ARGV[4]
local last = last_grant()
local readers = standing(readers_of(last, owner))
local mine = grant_of(readers, owner)
if mine and mine.state == 'h' then
  -- Not back, and always written, for WAIT: see acquire.lua.
  mine.left = math.max(mine.left, ttl)
  settle(last, readers)
  return tonumber(mine.number)
end

-- Tells apart a server that takes writes, and has the memory for them.
redis.call('LSET', KEYS[1], 0, last.value)
if last.state == 's' or not stands(last) then
  local got, writer = admit(last, readers, owner, ttl)
  if not got and not writer and not mine then
    -- Nobody is in line; but behind many dead ones this attempt may be.
    local _ = leave(owner)
    got = enter(last, readers, owner, ttl, holder)
  end
  conclude(last, readers, writer)
  if got then
    return tonumber(got)
  end
  last = last_grant()
end

local left, by = taken(last)
return {left, by, ARGV[5] and join(owner, 0, holder, ARGV[5])}
