package io.holdfast.lock;

/** A client of a store that has read-write locks as well as locks. */
public interface ReadWriteClient extends LockClient {

  /**
   * Returns the read-write lock of this name, with the client's default options. No I/O; the result
   * need not be closed. Its write lock is that of {@link #get(String)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the client's default options have
   *     a minimum hold
   */
  @CheckReturnValue
  DistributedReadWriteLock readWrite(String name);

  /**
   * Returns the read-write lock of this name with other options; the same as
   * {@code readWrite(name).with(options)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the options' TTL is too short for
   *     this client's store timeout, or they have a minimum hold
   */
  @CheckReturnValue
  DistributedReadWriteLock readWrite(String name, LockOptions options);
}
