-- The key of a lock, and the clock of the scripts that take it.
--
-- KEYS[1] is a list, and all that there is of a lock: while a Cluster moves its slot, a lock is at one
-- node or the other, and moves as a whole, with the time that it has left.
--   First the last grant:
--     owner id '|' state '|' number '|' kept (ms) '|' holder
--   The state is 'h' (held), 'r' (released, and a minimum hold keeps the name taken) or 'f' (free):
--   then the owner id is '-', and nobody the holder.
--   Behind it the line, in the order of joining:
--     owner id '|' alive until (ms) '|' TTL (ms) '|' claim (ms) '|' look '|' channel '|' holder
--
-- The key outlives the grant by what is "kept", and with it the number. A grant stands while more than
-- that is left to the key.
--
-- A number is the time of its grant, unless the last one was not below that. So it also tells since
-- when the lock is held.
--
-- No script empties the list: while its slot moves, a key that went can't be made again where it was.

-- The server's time in microseconds: decimal, 16 digits, and below 2^53 until the year 2255.
local function time_now()
  local clock = redis.call('TIME')
  return clock[1] .. string.sub('00000' .. clock[2], -6)
end
