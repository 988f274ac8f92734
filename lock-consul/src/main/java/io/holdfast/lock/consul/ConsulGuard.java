package io.holdfast.lock.consul;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.LeaseGuard;

/**
 * Makes a transaction on Consul's keys conditional on a lease, whatever the clocks did. Put
 * {@link #operation()} before your own operations: Consul then applies all of them, or, if the
 * lease does not stand, none.
 *
 * <pre>{@code
 * ConsulGuard guard = ConsulGuard.of(lease);
 * String body = "[" + guard.operation() + ", {\"KV\": {\"Verb\": \"set\", ...}}]";
 * if (put("/v1/txn", body).status() == 409) {
 *   throw guard.lost();   // if the failed operation is the guard's
 * }
 * }</pre>
 *
 * <p>A guard has no end: a transaction that is sent after the lease was closed is refused. A lease
 * that had a guard is not handed on locally.
 *
 * <p>Threads: safe for all.
 */
public final class ConsulGuard {
  private final LeaseGuard<ConsulGrant> guard;

  private ConsulGuard(LeaseGuard<ConsulGrant> guard) {
    this.guard = guard;
  }

  /**
   * A guard on a lease of {@link ConsulLocks}. No I/O.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   */
  public static ConsulGuard of(Lease lease) {
    LeaseGuard<ConsulGrant> guard = LeaseGuard.open(lease, ConsulGrant.class);
    // Consul refuses what comes after the release, so there is nothing to wait for.
    guard.close();
    return new ConsulGuard(guard);
  }

  /** The key that must be at {@link #index()}. */
  public String key() {
    return guard.grant().attempt().key();
  }

  /**
   * The {@code ModifyIndex} that {@link #key()} must have. It had that since the lease was granted,
   * and never has it again.
   */
  public long index() {
    return guard.grant().number();
  }

  /** The operation {@code check-index}, as JSON. */
  public String operation() {
    return "{\"KV\":{\"Verb\":\"check-index\",\"Key\":"
        + Json.quote(key())
        + ",\"Index\":"
        + index()
        + "}}";
  }

  /**
   * Tells that Consul refused {@link #operation()}: the lease is lost.
   *
   * @return the exception to throw
   */
  public LockLostException lost() {
    return guard.lost();
  }
}
