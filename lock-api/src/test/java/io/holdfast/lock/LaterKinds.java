package io.holdfast.lock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Function;

/**
 * The kinds that are to come, as types: read-write locks, and asynchronous views. They compile, so
 * they fit beside today's types without a change of one of them; {@link #uses} is what users will
 * write.
 */
final class LaterKinds {
  private LaterKinds() {}

  /** The right to read. It has a token, and is no {@link Lease}: no guard takes it. */
  interface ReadLease extends AnyLease {
    String name();

    long token();

    @Override
    ReadLease detach();
  }

  /** The side of a read-write lock that many may have. */
  interface ReadLock extends Acquirable<ReadLease> {
    String name();

    @Override
    ReadLock with(LockOptions options);

    List<LockHolder> holders();

    boolean forceRelease(long expectedToken);

    boolean isHeldByCurrentThread();

    Lock asLock();
  }

  /** Its write lock is the {@link DistributedLock} of the same name. */
  interface DistributedReadWriteLock {
    ReadLock read();

    DistributedLock write();

    ReadWriteLock asReadWriteLock();
  }

  /** Between {@link LockClient} and {@link SemaphoreClient}. */
  interface ReadWriteClient extends LockClient {
    DistributedReadWriteLock readWrite(String name);

    DistributedReadWriteLock readWrite(String name, LockOptions options);
  }

  /**
   * The asynchronous ways to acquire, which {@code async()} of an {@link Acquirable} will return.
   */
  interface AsyncAcquirable<L extends AnyLease> {
    CompletionStage<Optional<L>> tryLock();

    CompletionStage<Optional<L>> tryLock(Duration maxWait);

    CompletionStage<L> lock();

    <T> CompletionStage<T> call(Function<? super L, ? extends CompletionStage<T>> action);
  }

  static CompletionStage<Long> uses(
      ReadWriteClient client, AsyncAcquirable<PermitLease> permits, LeaseAction<AnyLease, ?> any)
      throws Exception {
    DistributedReadWriteLock prices = client.readWrite("prices");
    prices.read().run(lease -> System.out.println(lease.token()));
    prices.write().run(lease -> System.out.println(lease.token()));
    prices.read().run(any::run);
    prices.write().tryRun(any);
    return permits.call(lease -> permits
        .tryLock(Duration.ZERO)
        .thenApply(second -> second.isPresent() ? 2L : lease.token()));
  }
}
