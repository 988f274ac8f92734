-- Makes sure that an attempt has nothing: neither the lock nor a place in line.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id, or what those of its rounds begin with
--
-- Returns 1.

leave(ARGV[1])
local last = last_grant()
if last and last.state == 'h' and string.sub(last.owner, 1, #ARGV[1]) == ARGV[1] then
  free(last)
end
return 1
