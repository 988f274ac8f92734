-- As guard.lua, for a lease of a semaphore; KEYS[1] as in permits.lua. It is put into a block, after
-- grants.lua.

  local value = redis.call('LINDEX', KEYS[1], 0)
  local kept, granted = string.match(value or '', '^%d+|%d+|(%d+)|(.*)$')
  local mine = kept and grant_of(grants_in(granted, redis.call('PTTL', KEYS[1]) - kept), ARGV[1])
  if not mine or mine.state ~= 'h' or mine.left <= 0 then
    return redis.error_reply('HOLDFASTLOST the lease does not stand')
  end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
