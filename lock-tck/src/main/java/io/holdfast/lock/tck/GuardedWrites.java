package io.holdfast.lock.tck;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import java.util.List;

/**
 * Logs on the store whose entries are appended under the store's own guard: what a user of the lock
 * would do with a guarded write, as small as possible. The order of the entries is the order in
 * which the store made the writes.
 *
 * <p>Threads: safe for all.
 */
public interface GuardedWrites {

  /** Makes an empty log of this name, which is never used again. */
  void create(String log) throws Exception;

  /**
   * Appends an entry if the lease still stands at the store, through the store's guard, check and
   * write in one atomic step.
   *
   * @param beforeEffect to be run by the calling thread at the last moment at which a caller's code
   *     can run before the write takes effect: between the check and the commit where they are two
   *     calls, else just before the one call
   * @throws LockLostException the lease does not stand at the store, and nothing was written
   * @throws IllegalArgumentException the lease is not one of this store
   */
  void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception;

  /** As {@link #append(String, Lease, String, Step)}, with nothing to do in between. */
  default void append(String log, Lease lease, String entry) throws Exception {
    append(log, lease, entry, () -> {});
  }

  /** The entries, in the order in which they were written. */
  List<String> read(String log) throws Exception;

  /** Something to do. */
  @FunctionalInterface
  interface Step {
    /** Does it. */
    void run() throws Exception;
  }
}
