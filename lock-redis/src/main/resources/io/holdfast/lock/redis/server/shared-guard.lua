  -- The check of guard.lua for a lease that is shared; put between grants.lua and the caller's own
  -- script. KEYS and ARGV as there.
  if not standing_of(read(), ARGV[1]) then
    return redis.error_reply('HOLDFASTLOST the lease does not stand')
  end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
