package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A place in a lock's line. Each look keeps it alive, and leaves its number there. So a message
 * that names the last look was sent by a hand-over that came after that look was sent, and needs no
 * confirmation: the lock is the claim's for {@link RedisStore#CLAIM_LASTS} (or the TTL, if that is
 * less) from then, at least. A message that names another look is of a turn that lapsed. A look
 * that had to be sent twice may have reached two servers, of which one is the primary no more: it
 * proves nothing.
 */
final class QueueTicket implements Ticket {
  private final RedisStore store;
  private final Claim claim;
  private final Runnable wakeUp;
  private long looks;
  private volatile @Nullable HandedOver heard;
  private volatile String holder = "";
  private volatile boolean isOver;

  QueueTicket(RedisStore store, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.claim = claim;
    this.wakeUp = wakeUp;
  }

  /** Takes the lock, or joins its line, or keeps the place there. */
  RedisStore.Attempted look() throws StoreException {
    looks++;
    RedisStore.Attempted attempted = store.attemptOrQueue(claim, this, looks);
    if (attempted instanceof RedisStore.Attempted.Busy busy) {
      holder = busy.holder();
      if (busy.repeated()) {
        looks++; // so that no message names it
      }
    }
    return attempted;
  }

  /** On the thread that hears; null: something may have been missed. */
  void hear(@Nullable HandedOver news) {
    if (news != null) {
      heard = news;
    }
    wakeUp.run();
  }

  @Override
  public Optional<Grant> handedOver() {
    HandedOver last = heard;
    return last != null && last.look() == looks && last.number() != 0
        ? store.handedOver(claim, last.number())
        : Optional.empty();
  }

  @Override
  public Status poll() throws StoreException {
    RedisStore.Attempted attempted = look();
    if (attempted instanceof RedisStore.Attempted.Taken taken) {
      isOver = true;
      return new Granted(taken.grant());
    }
    return new Waiting(((RedisStore.Attempted.Busy) attempted).recheckAfter());
  }

  @Override
  public Optional<String> holder() {
    return Optional.of(holder);
  }

  @Override
  public void close() throws StoreException {
    if (isOver) {
      return;
    }
    store.stopWaiting(claim);
    store.withdraw(claim);
    isOver = true;
  }
}
