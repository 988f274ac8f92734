-- Makes sure that an attempt has nothing: neither the lock nor a place in line.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id
--
-- Returns 1.

leave(ARGV[1])
local value = redis.call('GET', KEYS[1])
if has(value, ARGV[1]) and not is_released(value) then
  free()
end
return 1
