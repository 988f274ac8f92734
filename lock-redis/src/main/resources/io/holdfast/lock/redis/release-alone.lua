-- The common case of release.lua, put before all that only the others need: the attempt has the
-- lock, nobody is in line, and no minimum hold is left. KEYS and ARGV as there.

local value = redis.call('GET', KEYS[1])
if value and not ARGV[2] and string.sub(value, 1, 34) == ARGV[1] .. '|h' then
  redis.call('DEL', KEYS[1])
  return 1
end

