-- Tells whether two clients of a quorum lead to one server: one leaves its number, and the other
-- finds it.
--
-- KEYS[1]  a key that is used for this check only
-- ARGV[1]  number of the client; empty: clean up
--
-- Returns the number of the client that was first, or nothing after cleaning up.

if ARGV[1] == '' then
  redis.call('DEL', KEYS[1])
  return nil
end
local first = redis.call('GET', KEYS[1])
if not first then
  first = ARGV[1]
  redis.call('SET', KEYS[1], first, 'PX', 60000)
end
return first
