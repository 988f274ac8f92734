package io.holdfast.lock.internal.queue;

/**
 * The turns of one client at one semaphore. Who has a turn asks the store, holds a permit, or gives
 * it back, each in a queue of its own. The others wait in the client, until a lease is handed on to
 * them or it is their turn. There are as many turns as permits, since more the client can't have;
 * and while one of them waits at the store, it waits there for all, since a permit that is free
 * would be its own. Guarded by the monitor of the waiters.
 */
final class PermitTurns {
  final int most;
  final Waiters waiters = new Waiters();

  /** The number of turns that are taken; who does not wait takes one though none is left. */
  int taken;

  /** The number of those that ask the store, or wait there. */
  int asking;

  /** The number of those that wait at the store. */
  int waiting;

  boolean clientClosed;

  PermitTurns(int most) {
    this.most = most;
  }

  /** Whether one that comes while nobody waits in the client has a turn, whoever else asks. */
  boolean isAnyForNewcomer() {
    return taken < most && waiting == 0;
  }

  /**
   * Whether one that waits in the client has a turn: one after the other, so as not to ask in vain.
   */
  boolean isAnyForWaiter() {
    return taken < most && asking == 0;
  }
}
