-- Makes sure that an attempt of a reader has nothing: neither the lock nor a place in line.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id
--
-- Returns 1, or 0 if it had nothing.

local had = leave(ARGV[1])
local last = last_grant()
local readers = readers_of(last, ARGV[1])
local mine = grant_of(readers, ARGV[1])
if mine and mine.state == 'h' then
  settle(last, standing(readers, mine.owner))
  had = true
end
return had and 1 or 0
