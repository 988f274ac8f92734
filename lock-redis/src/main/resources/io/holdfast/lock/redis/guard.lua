-- Put before a caller's own script, which then runs only if a lease stands, as one step with that
-- check. The caller's script finds its own keys and arguments in KEYS and ARGV, as ever.
--
-- KEYS[1]  the lock, as in grant.lua; the caller's keys follow
-- ARGV[1]  owner id; the caller's arguments follow
--
-- Returns what the caller's script does; an error that begins with HOLDFASTLOST, and runs nothing,
-- if the attempt does not have the lock.

local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 32) ~= ARGV[1] or string.sub(value, 34, 34) == 'r' then
  return redis.error_reply('HOLDFASTLOST the lease does not stand')
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
