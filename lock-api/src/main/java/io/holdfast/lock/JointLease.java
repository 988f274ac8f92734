package io.holdfast.lock;

import java.util.List;

/**
 * The right to several locks that were acquired together ({@link JointLock}), until
 * {@link #close()} or until one of them is lost. It consists of a lease of each, and is held while
 * all of them are.
 *
 * <p>It is lost with the first of them, and its listeners are told once, with that name. The others
 * stay taken until {@link #close()}, which frees them and then throws. {@code close()} frees the
 * last name first; that, {@link #verify()} and {@link #extend} cost a request for each name.
 * {@link #remaining()} is the least of all names, and {@link #crashBound()} the longest.
 */
public interface JointLease extends AnyLease {

  /** Returns the names of the locks, each once, in the order in which they were acquired. */
  @CheckReturnValue
  List<String> names();

  /**
   * Returns the fencing token of one of the locks, as {@link Lease#token()} does. Send it with
   * writes to what that name stands for.
   *
   * @throws IllegalArgumentException the lease is not of this name
   */
  @CheckReturnValue
  long token(String name);

  @Override
  JointLease detach();
}
