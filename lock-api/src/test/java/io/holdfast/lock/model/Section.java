package io.holdfast.lock.model;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.ModelEngine;
import org.jspecify.annotations.Nullable;

/** A user's time with a lock, from the acquire to its close. */
final class Section {
  private final User user;
  private final String name;
  private final ModelEngine.Held held;
  private final boolean renewed;
  private final boolean shared;

  /** By the world's clock: until then nobody else begins, if it is closed without a loss. */
  private final long minHoldUntilNanos;

  /** By the world's clock; a long time ahead while it is open. */
  long endedAtNanos = Long.MAX_VALUE;

  /** Kept, so that no garbage collector decides what is told. */
  @Nullable
  AnyLease lease;

  /** Another began it meanwhile, by then. */
  boolean overlapped;

  /** A force took it, or may have. */
  boolean forced;

  /** Its user is no longer known as its owner. */
  boolean isDetached;

  int lossesTold;
  boolean isLossListened;
  LeaseLoss.@Nullable Reason lostBy;

  Section(
      User user,
      String name,
      ModelEngine.Held held,
      boolean renewed,
      boolean shared,
      long minHoldUntilNanos) {
    this.user = user;
    this.name = name;
    this.held = held;
    this.renewed = renewed;
    this.shared = shared;
    this.minHoldUntilNanos = minHoldUntilNanos;
  }

  User user() {
    return user;
  }

  String name() {
    return name;
  }

  ModelEngine.Held held() {
    return held;
  }

  long minHoldUntilNanos() {
    return minHoldUntilNanos;
  }

  /** Whether others may read at the same time. */
  boolean isShared() {
    return shared;
  }

  boolean isRenewed() {
    return renewed;
  }

  /** Whether its user would be told now that it is held. */
  boolean seemsToStand() {
    Machine machine = user.machine();
    return !machine.isDead()
        && !machine.isSuspended()
        && held.seemsToStand(machine.nanosNow(), machine.wallAheadNanos());
  }

  @Override
  public String toString() {
    return user + (shared ? " reads with " : " with ") + held;
  }
}
