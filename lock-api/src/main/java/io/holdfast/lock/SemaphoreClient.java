package io.holdfast.lock;

/**
 * A client of a store that has semaphores as well as read-write locks and locks. {@link #list}
 * lists locks only.
 */
public interface SemaphoreClient extends ReadWriteClient {

  /**
   * Returns the semaphore of this name, with the client's default options. No I/O; the result need
   * not be closed. It has nothing to do with {@link #get(String)} of the same name, which is
   * another lock, even if it has one permit.
   *
   * @param permits 1 to 1,000
   * @throws IllegalArgumentException the name is not allowed, or the number is out of range
   */
  @CheckReturnValue
  DistributedSemaphore semaphore(String name, int permits);

  /**
   * Returns the semaphore of this name with other options; the same as {@code semaphore(name,
   * permits).with(options)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the number is out of range, or the
   *     options' TTL is too short for this client's store timeout
   */
  @CheckReturnValue
  DistributedSemaphore semaphore(String name, int permits, LockOptions options);
}
