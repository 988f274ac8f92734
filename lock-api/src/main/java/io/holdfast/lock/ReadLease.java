package io.holdfast.lock;

/**
 * The right to read what a {@link DistributedReadWriteLock} protects, until {@link #close()} or
 * until it is lost. Other readers may have theirs at the same time, and no writer has the lock.
 *
 * <p>No guard takes it, since the store can't tell a reader's late write from another's: write
 * under the {@linkplain DistributedReadWriteLock#write() write lock}.
 */
public interface ReadLease extends AnyLease {

  /** Returns the name of the lock. */
  @CheckReturnValue
  String name();

  /**
   * Returns the fencing token. It is higher than that of every earlier write lease of the lock, and
   * lower than that of every later one; it says nothing about other readers, who may have the same
   * one. So what is read under it is as new as it: a cache that is filled with this token refuses
   * it once a writer has sent a higher one. It never changes and can be read after the lease has
   * ended.
   *
   * <p>A read within a write, by the thread that owns the write, has the write's token.
   */
  @CheckReturnValue
  long token();

  @Override
  ReadLease detach();
}
