-- The common case of release.lua, put before all that only the others need: nobody stands in line,
-- and no minimum hold is left. KEYS and ARGV as there.

if ARGV[2] == '0' and redis.call('EXISTS', KEYS[3]) == 0 then
  local value = redis.call('GET', KEYS[1])
  if not value or string.sub(value, 1, 32) ~= ARGV[1] then
    return 0
  end
  if string.sub(value, 34, 34) == 'h' then
    redis.call('DEL', KEYS[1])
  end
  return 1
end

