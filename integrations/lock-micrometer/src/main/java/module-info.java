/** Micrometer meters and observations of distributed locks. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"
}) // Micrometer has no descriptors.
module io.holdfast.lock.micrometer {
  requires transitive io.holdfast.lock;
  requires transitive micrometer.core;
  requires transitive micrometer.observation;
  requires org.slf4j;
  requires static org.jspecify;

  exports io.holdfast.lock.micrometer;
}
