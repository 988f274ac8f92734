package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.Ownership;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One owner's turn within a {@link Tenure}: what its nested acquisitions share. Its fields are
 * guarded by the mutex of its {@link Line}, but for the final ones.
 */
final class Hold {
  private final Tenure tenure;
  private final int handOffs;
  private final long token;
  private final Thread acquirer;
  private final long sinceNanos;

  /** For Flight Recorder: from the lease to its end. */
  final Flight.Held flight = new Flight.Held();

  /** The thread that may re-enter; null: none. */
  @Nullable
  Thread owner;

  /** Its acquirer has it; false while it is handed on. */
  boolean seen;

  /** Taken from its thread: it may end anywhere, so it is not handed on locally. */
  boolean detached;

  /** A guard was opened on it: the store could not tell a local successor from it. */
  boolean everGuarded;

  int openGuards;

  /** Closed while a guard was open: to be released when the last guard ends. */
  boolean releaseWanted;

  @Nullable
  LeaseLoss loss;

  /** The acquisitions that were not closed yet. */
  final List<Handle> open = new ArrayList<>(1);

  /** Those of them that were made through {@link ThreadOwnedLock}, the latest first. */
  final Deque<LeaseHandle> locked = new ArrayDeque<>(0);

  Hold(Tenure tenure, int handOffs, Thread acquirer, long sinceNanos) {
    this.tenure = tenure;
    this.handOffs = handOffs;
    this.token = Token.of(tenure.grant().number(), handOffs);
    this.acquirer = acquirer;
    this.sinceNanos = sinceNanos;
    this.seen = handOffs == 0;
    this.owner = tenure.options().ownership() == Ownership.THREAD ? acquirer : null;
    flight.begin();
  }

  Tenure tenure() {
    return tenure;
  }

  int handOffs() {
    return handOffs;
  }

  long token() {
    return token;
  }

  Thread acquirer() {
    return acquirer;
  }

  long sinceNanos() {
    return sinceNanos;
  }
}
