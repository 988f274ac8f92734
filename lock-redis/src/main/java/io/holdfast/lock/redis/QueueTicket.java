package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.util.Optional;

/** A place in a lock's line. Each look keeps it alive. */
final class QueueTicket implements Ticket {
  private final RedisStore store;
  private final Claim claim;
  private volatile String holder;

  QueueTicket(RedisStore store, Claim claim, String holder) {
    this.store = store;
    this.claim = claim;
    this.holder = holder;
  }

  @Override
  public Status poll() throws StoreException {
    RedisStore.Attempted attempted = store.attemptOrQueue(claim);
    if (attempted instanceof RedisStore.Attempted.Taken taken) {
      store.stopWaiting(claim);
      return new Granted(taken.grant());
    }
    RedisStore.Attempted.Busy busy = (RedisStore.Attempted.Busy) attempted;
    holder = busy.holder();
    return new Waiting(busy.recheckAfter());
  }

  @Override
  public Optional<String> holder() {
    return Optional.of(holder);
  }

  @Override
  public void close() throws StoreException {
    store.stopWaiting(claim);
    store.withdraw(claim);
  }
}
