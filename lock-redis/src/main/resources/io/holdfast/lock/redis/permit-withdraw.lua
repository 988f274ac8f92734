-- Makes sure that an attempt has nothing: neither a permit nor a place in line.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
--
-- Returns 1, or 0 if it had nothing.

local had = leave(ARGV[1])
local sem = read()
local mine = sem and grant_of(sem.granted, ARGV[1])
if mine and mine.state == 'h' then
  tidy(sem, mine.owner)
  serve(sem)
  write(sem)
  had = true
end
return had and 1 or 0
