/** Distributed locks in Consul. */
module io.holdfast.lock.consul {
  requires transitive io.holdfast.lock;
  requires transitive okhttp3;
  requires org.slf4j;
  requires tools.jackson.core;
  requires static org.jspecify;

  exports io.holdfast.lock.consul;
}
