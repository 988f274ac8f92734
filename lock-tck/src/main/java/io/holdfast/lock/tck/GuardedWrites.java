package io.holdfast.lock.tck;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import java.util.List;

/**
 * Logs on the store, appended to under the store's own guard: the smallest example of a user's
 * guarded writes.
 *
 * <p>Threads: must be safe for use by any number of threads.
 */
public interface GuardedWrites {

  /** Creates an empty log of this name. Names are not reused. */
  void create(String log) throws Exception;

  /**
   * Appends an entry through the store's guard if the lease is still valid at the store; check and
   * write are one atomic step.
   *
   * @param beforeEffect must be run on the calling thread at the last moment at which a caller's
   *     code can run before the write takes effect: between the check and the commit if these are
   *     two calls, else just before the one call
   * @throws LockLostException the lease is no longer valid at the store, and nothing was written
   * @throws IllegalArgumentException the lease is not one of this store
   */
  void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception;

  /** Appends as {@link #append(String, Lease, String, Step)} does, with nothing in between. */
  default void append(String log, Lease lease, String entry) throws Exception {
    append(log, lease, entry, () -> {});
  }

  /** Returns the entries, in the order in which the store wrote them. */
  List<String> read(String log) throws Exception;

  /** An action that may throw. */
  @FunctionalInterface
  interface Step {
    /** Runs the action. */
    void run() throws Exception;
  }
}
