package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A place in a lock's line at the server. Each poll is a look: it keeps the place alive, and leaves
 * its number there, which a message repeats. So a message that names the last look was sent by a
 * hand-over after that look was sent, and needs no confirmation: from then on, the claim has the
 * lock for at least {@link RedisStore#CLAIM_LASTS} (or the TTL, if that is less). A message that
 * names an earlier look is about a turn that has lapsed. A look that had to be sent twice proves
 * nothing: it may have reached two servers, one of which is no longer the primary.
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

  /** Takes in a message, on the inbox's thread; null if messages may have been missed. */
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
        ? store.handedOver(claim, last)
        : Optional.empty();
  }

  /** Takes the lock, or joins its line, or keeps the place there alive. */
  @Override
  public Status poll() throws StoreException {
    looks++;
    RedisStore.Attempted attempted = store.attemptOrQueue(claim, this, looks);
    if (attempted instanceof RedisStore.Attempted.Granted granted) {
      isOver = true;
      return new Granted(granted.grant());
    }
    RedisStore.Attempted.Busy busy = (RedisStore.Attempted.Busy) attempted;
    holder = busy.holder();
    if (busy.repeated()) {
      looks++; // So that no message can name it.
    }
    return new Waiting(busy.recheckAfter());
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
