/** Distributed locks: the API, the SPI of stores, and the engine between them. */
module io.holdfast.lock {
  requires jdk.jfr;
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports io.holdfast.lock;
  exports io.holdfast.lock.spi;
}
