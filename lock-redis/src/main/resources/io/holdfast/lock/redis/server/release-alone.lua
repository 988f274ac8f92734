-- The common case of release.lua: the attempt has the lock, nobody is in line, and no minimum hold
-- is left. Put before all that only the other cases need. KEYS and ARGV as in release.lua.

local found = redis.call('LRANGE', KEYS[1], 0, 1)
if found[1] and not found[2] and not ARGV[2]
  and string.sub(found[1], 1, 34) == ARGV[1] .. '|h' then
  local number_and_kept, kept = string.match(found[1], '^(|%d+|(%d+)|)', 35)
  -- Before the LSET: a server whose memory is full refuses that as the first write of a script.
  redis.call('PEXPIRE', KEYS[1], kept)
  redis.call('LSET', KEYS[1], 0, '-|f' .. number_and_kept)
  return 1
end

