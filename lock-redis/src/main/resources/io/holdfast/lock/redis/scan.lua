-- Scans a part of a server's keys; changes nothing. It has no keys of its own, so that a Cluster runs it
-- where it is sent to.
--
-- ARGV[1]  cursor
-- ARGV[2]  glob of the keys to return
-- ARGV[3]  how many keys to look at
--
-- Returns {cursor of the next part, keys}.

return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
