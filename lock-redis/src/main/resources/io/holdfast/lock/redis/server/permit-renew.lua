-- Extends a grant to its TTL from now if it still has its permit; never makes it anew.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
--
-- Returns 1, or 0 if the attempt does not have a permit.

local sem = read()
local mine = grant_of(sem, ARGV[1])
if not mine or mine.state ~= 'h' or mine.ends <= NOW then
  return 0
end
keep(sem, ARGV[2])
redis.call('LSET', KEYS[1], mine.index,
  text(mine.owner, 'h', mine.permit, NOW + ARGV[2], mine.number, mine.holder))
return 1
