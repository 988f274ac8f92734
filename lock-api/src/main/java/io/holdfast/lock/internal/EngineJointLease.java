package io.holdfast.lock.internal;

import io.holdfast.lock.JointLease;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.internal.queue.Handle;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The user's side of an acquisition of several locks: it has a lease of each, and is held while all
 * of them are. The engine knows only the single leases, so each is renewed, found lost and found
 * dropped like any other.
 */
final class EngineJointLease implements JointLease {
  /** In the order in which they were acquired; at least one. */
  private final List<EngineLease> leases;

  EngineJointLease(List<EngineLease> leases) {
    this.leases = leases;
  }

  @Override
  public List<String> names() {
    return leases.stream().map(Lease::name).toList();
  }

  @Override
  public long token(String name) {
    for (EngineLease lease : leases) {
      if (lease.name().equals(name)) {
        return lease.token();
      }
    }
    throw new IllegalArgumentException(
        "This lease is of the locks " + String.join(", ", names()) + ", not of '" + name + "'");
  }

  @Override
  public LeaseState state() {
    LeaseState all = null;
    for (EngineLease lease : leases) {
      LeaseState state = lease.state();
      if (state == LeaseState.LOST) {
        return LeaseState.LOST;
      }
      // Some are closed and some are not: a close is on its way.
      all = all == null || all == state ? state : LeaseState.UNCERTAIN;
    }
    return Objects.requireNonNull(all);
  }

  @Override
  public boolean isHeld() {
    return leases.stream().allMatch(Lease::isHeld);
  }

  @Override
  public void ensureHeld() {
    requireNoneLost();
    // To settle a doubt about one takes time, in which another can be lost.
    while (!isHeld()) {
      leases.forEach(Lease::ensureHeld);
    }
  }

  /** Throws if a loss is known already, before the store is asked about the others. */
  private void requireNoneLost() {
    for (EngineLease lease : leases) {
      if (lease.state() == LeaseState.LOST) {
        lease.ensureHeld();
      }
    }
  }

  @Override
  public void verify() {
    requireNoneLost();
    leases.forEach(Lease::verify);
    ensureHeld();
  }

  @Override
  public void extend(Duration ttl) {
    extend(ttl, Duration.ZERO);
  }

  @Override
  public void extend(Duration ttl, Duration minHold) {
    requireNoneLost();
    for (EngineLease lease : leases) {
      lease.extend(ttl, minHold);
    }
    ensureHeld();
  }

  @Override
  public Duration remaining() {
    return leases.stream().map(Lease::remaining).min(Comparator.naturalOrder()).orElseThrow();
  }

  @Override
  public Duration crashBound() {
    return leases.stream().map(Lease::crashBound).max(Comparator.naturalOrder()).orElseThrow();
  }

  @Override
  public void onLost(Consumer<? super LeaseLoss> listener) {
    Objects.requireNonNull(listener);
    AtomicBoolean told = new AtomicBoolean();
    Consumer<LeaseLoss> once = loss -> {
      if (told.compareAndSet(false, true)) {
        listener.accept(loss);
      }
    };
    for (EngineLease lease : leases) {
      lease.onLost(once);
    }
  }

  @Override
  public JointLease detach() {
    ensureHeld();
    // All or none of them.
    Thread thread = Thread.currentThread();
    for (EngineLease lease : leases) {
      Handle handle = lease.handle;
      handle.hold().requireDetachable(handle, thread);
    }
    for (EngineLease lease : leases) {
      Handle handle = lease.handle;
      handle.hold().detach(handle, thread);
    }
    return this;
  }

  @Override
  public void close() {
    EngineJointLock.eachInReverse(leases, Lease::close);
  }

  @Override
  public String toString() {
    return leases.stream()
        .map(lease -> lease.name() + ", token " + lease.token())
        .collect(Collectors.joining("; ", "JointLease[", "; " + state() + "]"));
  }
}
