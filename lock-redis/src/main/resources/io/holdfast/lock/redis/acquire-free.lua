-- The common case of acquire.lua, put before all that only the others need: the lock is free, and
-- nobody stands in line. KEYS and ARGV as there.

if redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
  return grant(ARGV[1], ARGV[2], ARGV[3], ARGV[2])
end

