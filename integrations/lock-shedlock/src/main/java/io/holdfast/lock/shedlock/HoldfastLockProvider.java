package io.holdfast.lock.shedlock;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.Ownership;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * A ShedLock provider that takes its locks from a Holdfast client. The lock of a task is the
 * client's lock of the same name, so {@link LockClient#get} with that name, {@code inspect()} and
 * {@code forceRelease()} are about the same lock.
 *
 * <p><b>How long.</b> {@code lockAtMostFor} is the TTL of a fixed lease, which nothing renews, and
 * {@code lockAtLeastFor} is its minimum hold ({@link LockOptions#withMinHold}). Both count from the
 * answer of the store, by its clocks (for the holder, the TTL counts from before the request). The
 * configuration's creation time, by this machine's wall clock, is not used.
 *
 * <p>A {@code lockAtMostFor} that is too short to be a TTL of this client (one must be longer than
 * the client's {@linkplain io.holdfast.lock.LockClientBuilder#storeTimeout store timeout}, 5 s by
 * default) is the time after which this process frees the lock by itself. Only if the process dies
 * or freezes is the name taken for longer: for the TTL of the client's default options, 30 s unless
 * they were set.
 *
 * <p><b>Locking</b> asks once and does not wait. It returns an empty result only if the lock is
 * taken. It throws
 *
 * <ul>
 *   <li>{@link LockStoreException} if the store gave no usable answer: nothing is held, and the
 *       task does not run. Never reported as "taken";
 *   <li>{@link LockClientClosedException} if the client was closed;
 *   <li>{@link IllegalArgumentException}, before any I/O, if the name is not allowed (see
 *       {@link LockClient#get}), {@code lockAtMostFor} is zero or longer than the store allows, or
 *       {@code lockAtLeastFor} is negative.
 * </ul>
 *
 * <p><b>Unlocking</b> throws a {@link LockLostException} if the lease ended before, because the
 * task took longer than {@code lockAtMostFor} or the lock was freed by force: another machine may
 * have run the task at the same time. ShedLock's executor then throws this in place of the task's
 * result, or of its exception. If the store cannot be reached, unlocking does not throw; the client
 * goes on trying until {@code lockAtMostFor} is over.
 *
 * <p><b>Extending</b> keeps the lock for at least the new {@code lockAtMostFor}, and the name taken
 * for at least the new {@code lockAtLeastFor}, both from now. It shortens neither. It returns an
 * empty result if the lock was held no longer, or if its {@code lockAtMostFor} is over; the lock is
 * given up then. It throws what locking does; after a {@link LockStoreException} the lock can still
 * be unlocked or extended, and lasts for as long as before or longer.
 *
 * <p>The client stays open; closing it is up to you, after the scheduler has ended.
 *
 * <p>Threads: safe for use by any number of threads. A lock that it returned may be used by any
 * thread, by one at a time.
 */
public final class HoldfastLockProvider implements ExtensibleLockProvider {
  private final LockClient client;

  /** Makes a provider of this client's locks. No I/O. */
  public HoldfastLockProvider(LockClient client) {
    this.client = Objects.requireNonNull(client);
  }

  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    requireLength(configuration);
    TaskTtl ttls = new TaskTtl(client.defaultOptions().ttl());
    DistributedLock lock = ttls.use(
        configuration.getLockAtMostFor(),
        ttl -> client.get(configuration.getName(), options(ttl, configuration)));
    return lock.tryLock().map(lease -> {
      Tenure tenure = new Tenure(lease, ttls);
      tenure.last(configuration.getLockAtMostFor(), lock.options().ttl());
      return new TaskLock(configuration, tenure);
    });
  }

  /** Refuses a {@code lockAtMostFor} of zero, which ShedLock allows. */
  static void requireLength(LockConfiguration configuration) {
    if (configuration.getLockAtMostFor().isZero()) {
      throw new IllegalArgumentException(
          "lockAtMostFor of lock '"
              + configuration.getName()
              + "' is zero, so the lock would be free at once: set it to longer than the task ever takes");
    }
  }

  private static LockOptions options(Duration ttl, LockConfiguration configuration) {
    return LockOptions.fixed(ttl)
        .withMinHold(configuration.getLockAtLeastFor())
        .withOwnership(Ownership.LEASE);
  }
}
