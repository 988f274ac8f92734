package io.holdfast.lock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * The kinds that are to come, as types: asynchronous views. They compile, so they fit beside
 * today's types without a change of one of them; {@link #uses} is what users will write.
 */
final class LaterKinds {
  private LaterKinds() {}

  /**
   * The asynchronous ways to acquire, which {@code async()} of an {@link Acquirable} will return.
   */
  interface AsyncAcquirable<L extends AnyLease> {
    CompletionStage<Optional<L>> tryLock();

    CompletionStage<Optional<L>> tryLock(Duration maxWait);

    CompletionStage<L> lock();

    <T> CompletionStage<T> call(Function<? super L, ? extends CompletionStage<T>> action);
  }

  static CompletionStage<Long> uses(AsyncAcquirable<PermitLease> permits) {
    return permits.call(lease -> permits
        .tryLock(Duration.ZERO)
        .thenApply(second -> second.isPresent() ? 2L : lease.token()));
  }
}
