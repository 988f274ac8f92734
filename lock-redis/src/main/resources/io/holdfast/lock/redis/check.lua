-- Tells the version of the server, to refuse one that is too old.
--
-- Returns major * 65536 + minor * 256 + patch; 0 before Redis 7.0.

return redis.REDIS_VERSION_NUM or 0
