-- Extends a grant, if it still has its permit, so that it stands for at least some time from now;
-- never shortens it, and never makes it anew.
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
-- Always a write, so that a replica refuses it.
keep(sem, ARGV[2])
local ends = math.max(mine.ends, NOW + ARGV[2])
if ends > mine.ends then
  redis.call('LSET', KEYS[1], mine.index,
    text(mine.owner, 'h', mine.permit, ends, mine.number, mine.holder))
end
return ends - NOW
