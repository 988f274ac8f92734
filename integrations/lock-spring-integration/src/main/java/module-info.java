/** Distributed locks as a lock registry of Spring Integration. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"
}) // Spring has no descriptors.
module io.holdfast.lock.spring.integration {
  requires transitive io.holdfast.lock;
  requires transitive spring.integration.core;
  requires static org.jspecify;

  exports io.holdfast.lock.spring.integration;
}
