package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;

/**
 * The time for which readers of one client may join the grant that one of them got. A writer at the
 * store waits for those who join, too. So it is no longer than what the writer waits for anyway: a
 * read, or the requests of an acquire.
 *
 * <p>Threads: any. Written under the mutex of the {@link WaitQueue}.
 */
final class ShareWindow {
  /** Its greatest length: so long a writer may wait for those who join, at the most. */
  static final long NANOS_MAX = 100_000_000;

  private final RecentReads reads;
  private volatile boolean granted;
  private volatile boolean canBeJoined;

  /** Its end, while {@link #canBeJoined}. */
  private volatile long untilNanos;

  /** @param reads those of its name */
  ShareWindow(RecentReads reads) {
    this.reads = reads;
  }

  /**
   * Notes the arrival of the grant. Only one that is renewed without an end can be joined: others
   * may be almost over.
   */
  void granted(ActiveGrant grant, long askedNanos) {
    LockOptions options = grant.options();
    long acquireNanos = grant.grantedAtNanos() - askedNanos;
    long nanos = Math.max(reads.longestNanos(), 2 * acquireNanos);
    untilNanos = grant.grantedAtNanos() + Math.min(nanos, NANOS_MAX);
    canBeJoined = options.isRenewed() && options.maxHold().isEmpty();
    granted = true;
  }

  /** Ends it for good, since the grant is no longer renewed. */
  void close() {
    canBeJoined = false;
  }

  /** Notes that a read was closed. */
  void closed(long readNanos) {
    reads.closed(readNanos);
  }

  boolean isGranted() {
    return granted;
  }

  /** Whether a reader may still join. */
  boolean isOpen(long nowNanos) {
    return canBeJoined && untilNanos - nowNanos > 0;
  }
}
