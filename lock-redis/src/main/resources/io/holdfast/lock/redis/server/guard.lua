-- The check of a lease, put before a caller's own script: that runs only if the lease stands, in
-- one step with the check, and finds its own keys and arguments in KEYS and ARGV.
--
-- KEYS[1]  the lock, as in key.lua; the caller's keys follow
-- ARGV[1]  owner id; the caller's arguments follow
--
-- Returns what the caller's script returns. If the attempt does not have the lock, returns an error
-- that begins with HOLDFASTLOST, and runs nothing.

do
  local value = redis.call('LINDEX', KEYS[1], 0)
  if not value or string.sub(value, 1, 34) ~= ARGV[1] .. '|h'
    or redis.call('PTTL', KEYS[1]) <= tonumber(string.match(value, '^|%d+|(%d+)|', 35)) then
    return redis.error_reply('HOLDFASTLOST the lease does not stand')
  end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
