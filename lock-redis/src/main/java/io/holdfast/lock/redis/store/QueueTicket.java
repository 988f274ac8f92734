package io.holdfast.lock.redis.store;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A place in a lock's line at the server. Each poll keeps the place alive, and leaves its number
 * there, which a message repeats. So a message that names the last poll was sent by a hand-over
 * after that poll was sent, and needs no confirmation: from then on, the claim has the lock for at
 * least {@link RedisStore#turnLasts} (or the TTL, if that is less). A message that names an earlier
 * poll is about a turn that has lapsed. A poll that had to be sent twice proves nothing: it may
 * have reached two servers, one of which is no longer the primary.
 */
final class QueueTicket implements Ticket {
  private final RedisStore store;
  private final Claim claim;
  private final Runnable wakeUp;
  private long polls;
  private volatile @Nullable HandedOver heard;
  private volatile String holder = "";
  private volatile boolean isOver;

  QueueTicket(RedisStore store, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.claim = claim;
    this.wakeUp = wakeUp;
  }

  /** Polls for the first time: the claim is in line unless it is granted the lock at once. */
  Acquisition join() throws StoreException {
    Status status = poll();
    return status instanceof Waiting waiting
        ? new Acquisition.Queued(this, waiting.recheckAfter())
        : new Acquisition.Granted(((Granted) status).grant());
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
    return last != null && last.poll() == polls && last.number() != 0
        ? store.takeOver(claim, last)
        : Optional.empty();
  }

  /** Takes the lock, or joins its line, or keeps the place there alive. */
  @Override
  public Status poll() throws StoreException {
    polls++;
    Duration nextPollAfter = store.inbox.recheckAfter();
    RedisStore.Asked asked = store.askOrQueue(claim, this, polls, nextPollAfter);
    if (asked instanceof RedisStore.Asked.Granted granted) {
      isOver = true;
      return new Granted(granted.grant());
    }
    RedisStore.Asked.Busy busy = (RedisStore.Asked.Busy) asked;
    holder = busy.holder();
    if (busy.repeated()) {
      polls++; // So that no message can name it.
    }
    return new Waiting(Collections.min(List.of(nextPollAfter, busy.endsAfter())));
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
    store.inbox.forget(claim.ownerId());
    store.withdraw(claim);
    isOver = true;
  }
}
