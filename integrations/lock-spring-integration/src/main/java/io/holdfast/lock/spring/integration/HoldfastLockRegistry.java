package io.holdfast.lock.spring.integration;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.Ownership;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A lock registry of Spring Integration whose locks are those of a {@link LockClient}. For leader
 * election, give it to Spring Integration's {@code LockRegistryLeaderInitiator}.
 *
 * <p>A key's lock is the client's lock whose name is the registry's prefix and the key. If that is
 * no allowed name (see {@link LockClient#get(String)}), a hash takes the place of the key.
 * Registries of the same client and prefix have the same locks; to have locks of another TTL, make
 * another registry.
 *
 * <p>The {@link Lock}s of this registry belong to the thread, as {@link DistributedLock#asLock()}
 * does, with these differences:
 *
 * <ul>
 *   <li>{@code unlock()} throws a {@link ConcurrentModificationException} if the lease was lost;
 *       its cause is the {@link LockLostException}. Nothing is held after it.
 *   <li>A thread that has the lock and acquires it again gets it only if the store confirms the
 *       lease. That costs a request. If the lease was lost, the call throws a
 *       {@link LockLostException}; if the store does not answer, a {@link LockStoreException}. The
 *       outer {@code unlock()} is still due. So a leader finds out with each of its heartbeats
 *       whether it still leads.
 * </ul>
 *
 * <p>A failure of the store is never reported as "taken": {@code tryLock} throws a
 * {@link LockStoreException}. There are no conditions.
 *
 * <p>The registry has no state, so there are no unused locks to remove. Close the client yourself,
 * after whatever uses the registry has stopped.
 *
 * <p>Works with Spring Integration 6.5, 7.0 and 7.1. Its supertype has a type parameter from 7.0
 * on, and none before, so this class implements the raw type: declare variables and beans as
 * {@link LockRegistry}.
 *
 * <p>Threads: safe for use by any number of threads. {@link #obtain} returns at once; methods that
 * ask the store say so.
 */
@SuppressWarnings("rawtypes")
public final class HoldfastLockRegistry implements RenewableLockRegistry {
  private final LockClient client;
  private final LockOptions options;
  private final LockNames names;

  /**
   * Makes a registry with the client's default options.
   *
   * @param prefix the beginning of the names of its locks, for example {@code integration/}; if it
   *     is empty, the keys are the names
   * @throws IllegalArgumentException the prefix has more than 128 code points or a character that
   *     no name has, or the client's locks belong to leases ({@link Ownership#LEASE})
   */
  public HoldfastLockRegistry(LockClient client, String prefix) {
    this(client, prefix, client.defaultOptions());
  }

  /**
   * Makes a registry with options of its own.
   *
   * @param prefix the beginning of the names of its locks, for example {@code integration/}; if it
   *     is empty, the keys are the names
   * @param options the options of all its locks, with {@link Ownership#THREAD}
   * @throws IllegalArgumentException the prefix has more than 128 code points or a character that
   *     no name has, the options say {@link Ownership#LEASE}, or their TTL is too short for the
   *     client's store timeout
   */
  public HoldfastLockRegistry(LockClient client, String prefix, LockOptions options) {
    if (options.ownership() != Ownership.THREAD) {
      throw new IllegalArgumentException("The locks of a registry are owned by threads, and these"
          + " options are owned by leases: use withOwnership(Ownership.THREAD): "
          + options);
    }
    this.client = client;
    this.options = options;
    this.names = new LockNames(prefix);
    DistributedLock unused = lock("any"); // The client checks the TTL.
  }

  /**
   * Returns the lock of a key. No I/O. Locks of the same key are interchangeable, and need not be
   * kept.
   *
   * @param lockKey a string
   * @throws IllegalArgumentException the key is no string: two JVMs may not agree on its text
   */
  @Override
  public Lock obtain(Object lockKey) {
    return new RegistryLock(lock(lockKey));
  }

  /**
   * Makes sure that the calling thread has the lock of a key, for as long as the options say. Asks
   * the store: it confirms a lease that is renewed, and extends a fixed one by its TTL.
   *
   * @throws IllegalArgumentException the key is no string
   * @throws IllegalMonitorStateException the calling thread has no lease of the lock that is valid
   *     by the local clocks
   * @throws LockLostException the lease was lost
   * @throws LockStoreException the store gave no usable answer; the lease goes on or ends as if
   *     this had not been called
   */
  @Override
  public void renewLock(Object lockKey) {
    renewLock(lockKey, options.ttl());
  }

  /**
   * Makes sure that the calling thread has the lock of a key. Asks the store: it extends a fixed
   * lease, so that it lasts for at least {@code ttl} from now, and confirms one that is renewed,
   * which lasts as long as its thread and client do, whatever {@code ttl} says.
   *
   * @param ttl as in {@link Lease#extend}
   * @throws IllegalArgumentException the key is no string, or the lease is fixed and the time is
   *     out of range
   * @throws IllegalMonitorStateException the calling thread has no lease of the lock that is valid
   *     by the local clocks
   * @throws LockLostException the lease was lost
   * @throws LockStoreException the store gave no usable answer; the lease goes on or ends as if
   *     this had not been called, or later
   */
  @Override
  public void renewLock(Object lockKey, Duration ttl) {
    Objects.requireNonNull(ttl);
    try (Lease lease = heldLease(lockKey)) {
      if (options.isRenewed()) {
        lease.verify();
      } else {
        lease.extend(ttl);
      }
    }
  }

  /**
   * Returns the fencing token of the lock that the calling thread has: send it with every write to
   * what the lock protects. See {@link Lease#token()}. No I/O. Listeners of the client are told of
   * a nested acquisition ({@link LockListener.Source#REENTRANT}).
   *
   * @throws IllegalArgumentException the key is no string
   * @throws IllegalMonitorStateException the calling thread has no lease of the lock that is valid
   *     by the local clocks
   * @throws LockLostException the lease was lost
   */
  public long token(Object lockKey) {
    try (Lease lease = heldLease(lockKey)) {
      return lease.token();
    }
  }

  private DistributedLock lock(Object lockKey) {
    return client.get(names.of(lockKey), options);
  }

  /** Returns a nested lease of the lock that the calling thread has. */
  private Lease heldLease(Object lockKey) {
    DistributedLock lock = lock(lockKey);
    Optional<Lease> nested = lock.isHeldByCurrentThread() ? lock.tryLock() : Optional.empty();
    return nested.orElseThrow(() -> new IllegalMonitorStateException("Thread '"
        + Thread.currentThread().getName() + "' has no valid lease of lock '" + lock.name() + "'"));
  }

  @Override
  public String toString() {
    return "HoldfastLockRegistry[" + names.prefix() + ", " + options + "]";
  }
}
