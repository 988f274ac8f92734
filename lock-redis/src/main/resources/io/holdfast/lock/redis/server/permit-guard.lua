-- The same as guard.lua for a lease of a semaphore; KEYS[1] as in permits.lua.

do
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local stands = false
  for _, value in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
    local ends = string.match(value, '^g|' .. ARGV[1] .. '|h|%d+|(%d+)|')
    stands = stands or ends ~= nil and tonumber(ends) > now
  end
  if not stands then
    return redis.error_reply('HOLDFASTLOST the lease does not stand')
  end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
