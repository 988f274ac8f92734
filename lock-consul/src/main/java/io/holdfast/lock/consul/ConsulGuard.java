package io.holdfast.lock.consul;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.LeaseGuard;

/**
 * A guard that makes a transaction on Consul's keys conditional on a lease, whatever clocks say.
 * Put {@link #operation()} before your own operations: Consul then carries out all of them, or none
 * if the lease is no longer valid.
 *
 * <pre>{@code
 * ConsulGuard guard = ConsulGuard.of(lease);
 * String body = "[" + guard.operation() + ", {\"KV\": {\"Verb\": \"set\", ...}}]";
 * if (put("/v1/txn", body).status() == 409) {
 *   throw guard.lost();   // if the failed operation is the guard's
 * }
 * }</pre>
 *
 * <p>A guard needs no {@code close()}: Consul refuses a transaction that is sent after the lease
 * was closed. A lease that ever had a guard is not handed on within the client, since Consul could
 * not tell the next holder from this one.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class ConsulGuard {
  private final LeaseGuard<ConsulGrant> guard;

  private ConsulGuard(LeaseGuard<ConsulGrant> guard) {
    this.guard = guard;
  }

  /**
   * Returns a guard on a lease of {@link ConsulLocks}. No I/O, unless the wall clock casts doubt on
   * the lease: then Consul is asked whether it is valid.
   *
   * @throws IllegalArgumentException the lease is of another store, or a mock
   * @throws IllegalStateException the lease was closed
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the lease is in doubt, and Consul gave no usable
   *     answer
   */
  public static ConsulGuard of(Lease lease) {
    LeaseGuard<ConsulGrant> guard = LeaseGuard.open(lease, ConsulGrant.class);
    // It need not stay open: Consul refuses a transaction that arrives after the release.
    guard.close();
    return new ConsulGuard(guard);
  }

  /** Returns the key of the lease, whose index {@link #operation()} checks. */
  public String key() {
    return guard.grant().attempt().key();
  }

  /**
   * Returns the {@code ModifyIndex} that {@link #key()} must have. The key has it until the lease
   * ends, and never again.
   */
  public long index() {
    return guard.grant().number();
  }

  /** Returns the operation {@code check-index} for a transaction, as JSON. */
  public String operation() {
    return new Transaction().checkIndex(key(), index()).operations();
  }

  /**
   * Reports that Consul refused {@link #operation()}, so that the lease becomes lost.
   *
   * @return the exception to throw
   */
  public LockLostException lost() {
    return guard.lost();
  }
}
