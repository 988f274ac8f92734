-- What the scripts share that begin or end a grant; it is put before each of them.
--
-- Keys, all in one hash tag:
--   KEYS[1]  the lock: attempt id '|' state '|' number '|' holder, for as long as the grant stands.
--            The state is 'h' (held) or 'r' (released, and a minimum hold keeps the name taken).
--   KEYS[2]  the number of the last grant, for an hour longer than that grant can last unrenewed
--   KEYS[3]  the line: attempt ids, by the time at which they joined
--   KEYS[4]  their places: attempt id -> alive until (ms) '|' TTL (ms) '|' claim (ms) '|'
--            look '|' channel '|' holder

local KEEP_NUMBER_MILLIS = 3600000

-- Gives the lock away, for px milliseconds. Returns the number: the time, or one more than the last
-- one if that is not below it. Both are decimal, without leading zeros, and stay below 2^53: the
-- time in microseconds does so until the year 2255.
local function grant(attempt, ttl, holder, px)
  local clock = redis.call('TIME')
  local number = clock[1] .. string.sub('00000' .. clock[2], -6)
  local last = redis.call('SET', KEYS[2], number, 'PX', ttl + KEEP_NUMBER_MILLIS, 'GET')
  if last and (#last > #number or #last == #number and last >= number) then
    number = string.format('%.0f', last + 1)
    redis.call('SET', KEYS[2], number, 'PX', ttl + KEEP_NUMBER_MILLIS)
  end
  redis.call('SET', KEYS[1], attempt .. '|h|' .. number .. '|' .. holder, 'PX', px)
  return tonumber(number)
end
