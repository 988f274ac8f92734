package io.holdfast.lock.spring;

import io.holdfast.lock.Acquirable;
import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;

/** The kind of lock that a {@link Locked} method runs under, of a client. */
@FunctionalInterface
interface LockOfName {
  /** Returns the lock of this name. No I/O. */
  Acquirable<? extends AnyLease> get(String name, LockOptions options);

  /**
   * Returns what an annotation asks for.
   *
   * @throws InvalidLockedMethodException the client is of a store without such locks, or the
   *     annotation asks for two kinds
   */
  static LockOfName of(Place place, Locked annotation, LockClient client) {
    int permits = annotation.permits();
    boolean isOfSemaphore = permits != 0;
    if (annotation.guard() && (annotation.read() || isOfSemaphore)) {
      throw place.invalid(
          "guard",
          "it is for a lock that one call has alone",
          "leave it out, or leave out " + (isOfSemaphore ? "permits" : "read"));
    }
    if (isOfSemaphore) {
      return ofSemaphore(place, annotation, client, permits);
    } else if (annotation.read()) {
      if (client instanceof ReadWriteClient readWrite) {
        return (name, options) -> readWrite.readWrite(name, options).read();
      }
      throw place.invalid(
          "read",
          "the client's store has no read-write locks",
          "leave it out, or take another store");
    }
    return client::get;
  }

  private static LockOfName ofSemaphore(
      Place place, Locked annotation, LockClient client, int permits) {
    if (annotation.read()) {
      throw place.invalid("permits", "read is set, too", "leave one of the two out");
    }
    if (client instanceof SemaphoreClient semaphores) {
      return (name, options) -> semaphores.semaphore(name, permits, options);
    }
    throw place.invalid(
        "permits", "the client's store has no semaphores", "leave it out, or take another store");
  }
}
