-- What the keys of a lock are, and what scripts share that take it.
--
-- Keys, all in one hash tag:
--   KEYS[1]  the lock: owner id '|' state '|' number '|' holder, for as long as the grant stands.
--            The state is 'h' (held), 'w' (held, and somebody may be in line) or 'r' (released, and
--            a minimum hold keeps the name taken).
--   KEYS[2]  the number of the last grant, for an hour longer than that grant can last unrenewed;
--            and a 'w' after it if somebody may be in line
--   KEYS[3]  the line: owner ids, by the time at which they joined
--   KEYS[4]  their places: owner id -> alive until (ms) '|' TTL (ms) '|' claim (ms) '|'
--            look '|' channel '|' holder
--
-- A number is the time of its grant, unless the last one was not below that: who looks tells from it
-- since when the lock is held.
--
-- Whoever joins the line leaves both marks, so that nobody has to look at the line who finds none.

local KEEP_NUMBER_MILLIS = 3600000

-- The server's time in microseconds: decimal, 16 digits, and below 2^53 until the year 2255.
local function time_now()
  local clock = redis.call('TIME')
  return clock[1] .. string.sub('00000' .. clock[2], -6)
end
