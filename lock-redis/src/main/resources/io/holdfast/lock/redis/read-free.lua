-- The common case of read-acquire.lua, put before all that only the others need: the lock is free,
-- nobody is in line, and the last number is below the time. KEYS and ARGV as there; what it writes is
-- explained in turns.lua.

local found = redis.call('LRANGE', KEYS[1], 0, 1)
if not found[2] and (not found[1] or string.sub(found[1], 1, 1) == '-') then
  local number = time_now()
  local last = found[1] and string.match(found[1], '^%-|f|(%d+)|')
  if not last or #last == #number and last < number then
    local taken = table.concat({
      string.rep('0', 32), 's', '0' .. number, ARGV[3], ARGV[1], 'h', 0, 0, number, #ARGV[4], ARGV[4]
    }, '|')
    if last then
      redis.call('LSET', KEYS[1], 0, taken)
    else
      redis.call('RPUSH', KEYS[1], taken)
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
    return tonumber(number)
  end
end

