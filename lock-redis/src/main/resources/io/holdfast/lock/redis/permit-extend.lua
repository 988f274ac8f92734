-- Extends a grant to a time from now if it still has its permit and would end before; never shortens
-- it, and never makes it anew.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  the least time for which it must stand (ms)
--
-- Returns the time left (ms), or nothing if the owner does not have a permit.

local sem = read()
local mine = grant_of(sem, ARGV[1])
if not mine or mine.state ~= 'h' or mine.ends <= NOW then
  return nil
end
-- Also tells apart a server that takes writes.
keep(sem, ARGV[2])
local ends = math.max(mine.ends, NOW + ARGV[2])
if ends > mine.ends then
  redis.call('LSET', KEYS[1], mine.index,
    text(mine.owner, 'h', mine.permit, ends, mine.number, mine.holder))
end
return ends - NOW
