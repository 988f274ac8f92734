-- Makes sure that an attempt has nothing: neither the lock nor a place in line.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id, or what those of its rounds begin with
--
-- Returns 1, or 0 if it had nothing.

local had = leave(ARGV[1])
local lock = read()
local mine = lock and string.sub(lock.owner, 1, #ARGV[1]) == ARGV[1] and lock
  or shared_of(lock, ARGV[1])
if mine and mine.state == 'h' then
  free(lock, mine)
  return 1
elseif had then
  -- Those behind it may have waited for it only.
  tidy(lock)
  serve(lock)
  return 1
end
return 0
