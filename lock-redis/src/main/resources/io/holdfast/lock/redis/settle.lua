-- Gives a grant the number that a quorum chose for it, and keeps that number as the last one.
--
-- KEYS[1]  the lock, as in grant.lua
-- KEYS[2]  the number of the last grant
-- ARGV[1]  owner id
-- ARGV[2]  number
--
-- Returns 1, or 0 if the attempt does not have the lock.

local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 32) ~= ARGV[1] or string.sub(value, 34, 34) == 'r' then
  return 0
end
local holder = string.match(value, '^%x+|%a|%d+|(.*)$')
redis.call('SET', KEYS[1], ARGV[1] .. '|h|' .. ARGV[2] .. '|' .. holder, 'KEEPTTL')
if (tonumber(string.match(redis.call('GET', KEYS[2]) or '', '^%d+')) or 0) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', redis.call('PTTL', KEYS[1]) + 3600000)
end
return 1
