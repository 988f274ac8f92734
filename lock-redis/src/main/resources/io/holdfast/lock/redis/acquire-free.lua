-- The common case of acquire.lua, put before all that only the others need: the lock is free, nobody
-- is in line, and the last number is below the time. KEYS and ARGV as there.

local number = time_now()
local taken = redis.pcall(
  'SET', KEYS[1], ARGV[1] .. '|h|' .. number .. '|' .. ARGV[3], 'PX', ARGV[2], 'NX')
-- A server that takes no writes can still say who has the lock: its error comes if that is nobody.
if taken and taken.ok then
  local kept = ARGV[2] + KEEP_NUMBER_MILLIS
  local last = redis.call('SET', KEYS[2], number, 'PX', kept, 'GET')
  if not last or #last == #number and last < number then
    return tonumber(number)
  end
  -- Not that simple: as if nothing had been done.
  redis.call('SET', KEYS[2], last, 'PX', kept)
  redis.call('DEL', KEYS[1])
end

