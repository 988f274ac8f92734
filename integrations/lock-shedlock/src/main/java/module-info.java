/** A ShedLock provider over distributed locks. */
module io.holdfast.lock.shedlock {
  requires transitive io.holdfast.lock;
  requires transitive net.javacrumbs.shedlock.core;
  requires org.slf4j;
  requires static org.jspecify;

  exports io.holdfast.lock.shedlock;
}
