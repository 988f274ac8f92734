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
    // What the user sends may come late, and must not meet another lease at the same key.
    guard.grant().attempt().spoilKey();
    // Consul refuses what comes after the release, so there is nothing to wait for.
    guard.close();
    return new ConsulGuard(guard);
  }

  /** The key that must belong to {@link #session()}. */
  public String key() {
    return guard.grant().attempt().key();
  }

  /** The session that must have {@link #key()}. */
  public String session() {
    return guard.grant().attempt().session().id();
  }

  /** The operation {@code check-session}, as JSON. */
  public String operation() {
    return "{\"KV\":{\"Verb\":\"check-session\",\"Key\":"
        + Json.quote(key())
        + ",\"Session\":"
        + Json.quote(session())
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
