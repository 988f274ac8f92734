-- Makes sure that an attempt has nothing: neither the lock nor a place in line.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id, or what those of its rounds begin with
--
-- Returns 1, or 0 if it had nothing.

local had = leave(ARGV[1])
local last = last_grant()
if last and last.state == 'h' and string.sub(last.owner, 1, #ARGV[1]) == ARGV[1] then
  free(last)
  had = true
end
return had and 1 or 0
