/** Distributed locks in Redis and Valkey. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"
}) // Jedis has no descriptor.
module io.holdfast.lock.redis {
  requires transitive io.holdfast.lock;
  requires transitive redis.clients.jedis;
  requires org.apache.commons.pool2;
  requires org.slf4j;
  requires static org.jspecify;

  exports io.holdfast.lock.redis;
}
