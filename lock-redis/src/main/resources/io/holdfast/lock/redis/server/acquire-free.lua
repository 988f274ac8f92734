-- The common case of acquire.lua: the lock is free, nobody is in line, and the last number is below
-- the time. Put before all that only the other cases need. KEYS and ARGV as in acquire.lua.

local found = redis.call('LRANGE', KEYS[1], 0, 1)
if not found[2] and (not found[1] or string.sub(found[1], 1, 1) == '-') then
  local number = time_now()
  local last = found[1] and string.match(found[1], '^%-|f|(%d+)|')
  if not last or #last == #number and last < number then
    local taken = ARGV[1] .. '|h|' .. number .. '|' .. ARGV[3] .. '|' .. ARGV[4]
    if last then
      redis.call('LSET', KEYS[1], 0, taken)
    else
      redis.call('RPUSH', KEYS[1], taken)
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
    return tonumber(number)
  end
end
