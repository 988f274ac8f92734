-- As guard.lua, for a lease of a reader; KEYS[1] as in turns.lua. It is put into a block, after
-- grants.lua.

  local value = redis.call('LINDEX', KEYS[1], 0) or ''
  local owner, state, kept, rest = string.match(value, '^([%-%x]+)|(%a)|%d+|(%d+)|(.*)$')
  local left = kept and redis.call('PTTL', KEYS[1]) - kept or 0
  local mine = state == 's' and grant_of(grants_in(rest, left), ARGV[1])
    or owner == ARGV[1] and {state = state, left = left}
  if not mine or mine.state ~= 'h' or mine.left <= 0 then
    return redis.error_reply('HOLDFASTLOST the lease does not stand')
  end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
