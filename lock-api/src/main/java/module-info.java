/** Distributed locks: the API for users, the SPI for stores, and the engine between them. */
module io.holdfast.lock {
  requires jdk.jfr;
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports io.holdfast.lock;
  exports io.holdfast.lock.spi;
}
