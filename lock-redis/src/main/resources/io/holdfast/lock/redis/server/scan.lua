-- Scans a part of a server's keys; changes nothing. It declares no keys, so that a node of a
-- Cluster runs it, and does not redirect it.
--
-- ARGV[1]  cursor
-- ARGV[2]  glob of the keys to return
-- ARGV[3]  how many keys to look at
--
-- Returns {cursor of the next part, keys}.

return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
