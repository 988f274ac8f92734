-- The key of a lock, and the clock of the scripts that take it.
--
-- KEYS[1] is a list that holds all of a lock, or of a semaphore. So while a Cluster moves its slot,
-- it is at one node or the other, and moves as a whole, with the time that it has left.
--   First the last grant:
--     owner id '|' state '|' number '|' kept (ms) '|' holder
--   The state is 'h' (held by one alone), 's' (shared), 'r' (released, and a minimum hold keeps the
--   name taken) or 'f' (free). If it is shared, the owner id is '-', the holder is the mode of
--   those who share it, and their grants follow. If it is free, the owner id is '-', and nobody the
--   holder.
--   Behind it the grants of those who share it:
--     'g|' owner id '|' state '|' permit '|' ends (ms) '|' number '|' holder
--   The state is 'h' or 'r', as above.
--   Behind them the line, in the order of joining:
--     owner id '|' alive until (ms) '|' turn (ms) '|' poll '|' channel '|' holder
--   For turn and poll see acquire.lua. A place of one who wants to share the lock has ':' and the
--   mode behind the owner id. The mode is 'r' (a reader), or 'p' and how many permits there are.
--   An entry that can't be read is one of a later version. It is left alone, and blocks: as the
--   first it keeps the lock taken while the key lives; in line, its place counts as alive.
--
-- The key outlives the last of the grants by what is "kept", so that the number is not forgotten at
-- once. With more than that left, the holder may renew and write. With less, another may take the
-- lock. With exactly that left, neither: Redis counts whole milliseconds. For the same reason, a
-- grant that is shared stands to the end of the millisecond in which it ends.
--
-- A number is the time of its grant, or one more than the last number if that is not below the
-- time. So it also tells since when the lock is held.
--
-- No script empties the list, which would delete the key: while a slot moves, the node that it
-- leaves can't make a key.

-- The server's time in microseconds: decimal, 16 digits, and below 2^53 until the year 2255.
local function time_now()
  local clock = redis.call('TIME')
  return clock[1] .. string.sub('00000' .. clock[2], -6)
end
