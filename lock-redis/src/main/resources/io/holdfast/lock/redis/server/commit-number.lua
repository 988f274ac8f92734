-- Gives a grant the number that a quorum chose for it.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id
-- ARGV[2]  number
--
-- Returns 1, or 0 if the attempt does not have the lock.

local value = redis.call('LINDEX', KEYS[1], 0)
if value and string.sub(value, 1, 34) == ARGV[1] .. '|h' then
  local kept, holder = string.match(value, '^|%d+|(%d+)|(.*)$', 35)
  if redis.call('PTTL', KEYS[1]) > tonumber(kept) then
    redis.call('LSET', KEYS[1], 0, ARGV[1] .. '|h|' .. ARGV[2] .. '|' .. kept .. '|' .. holder)
    return 1
  end
end
return 0
