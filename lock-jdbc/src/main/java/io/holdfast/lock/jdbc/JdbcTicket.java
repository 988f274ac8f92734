package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A waiter: a claim's place in the line of its lock, and what this client knows about it. The place
 * is a row in the table of waiters.
 *
 * <p>A lock that was handed over belongs to the waiter even before it accepts it. If the
 * {@link Poller} found the hand-over, the time left is what the row says, counted from before it
 * polled. A notification does not say when the hand-over happened. It happened after the waiter
 * joined, since it found the waiter's row; so the time left is {@link Dialect#HANDED_OVER_MICROS},
 * counted from before the waiter joined. A later poll that still showed the waiter in line is no
 * better bound: the hand-over may have read the clock before that poll, and been committed after
 * it.
 */
final class JdbcTicket implements Ticket {
  /**
   * The time after which the engine asks by itself. Only for the case that the {@link Poller},
   * which polls far more often, has failed.
   */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(5);

  private final JdbcStore store;
  private final Claim claim;
  final StoredClaim stored;
  private final long place;
  final Runnable wakeUp;

  /** The description of the holder that was seen last. */
  volatile String holder;

  /**
   * Whether the poller found that this waiter neither has the lock nor is in its line: a later
   * waiter got the lock, its own hand-over ran out, its row is gone, or the poll was at a server
   * that does not know it.
   */
  volatile boolean notInLine;

  /** The time just before the waiting thread's last request. */
  private volatile long askedNanos;

  /** The time just before the request with which it joined the line. */
  private final long joinedNanos;

  private volatile @Nullable HandedOver heard;

  /**
   * A hand-over to this waiter.
   *
   * @param number the grant number in the row
   * @param untilNanos a time until which it certainly stands
   */
  private record HandedOver(long number, long untilNanos) {}

  // Used by the poller and guarded by its monitor.
  long pollAtNanos;
  long sayAliveAtNanos;
  long announceAtNanos;
  int failedTakes;
  final PollPace pace = new PollPace();

  JdbcTicket(
      JdbcStore store,
      long askedNanos,
      Claim claim,
      StoredClaim stored,
      long place,
      Runnable wakeUp,
      String holder) {
    this.store = store;
    this.askedNanos = askedNanos;
    this.joinedNanos = askedNanos;
    this.claim = claim;
    this.stored = stored;
    this.place = place;
    this.wakeUp = wakeUp;
    this.holder = holder;
  }

  /** Notes a notification that the lock was handed over to it. */
  void noteNotification(long number) {
    heard = new HandedOver(
        number, joinedNanos + TimeUnit.MICROSECONDS.toNanos(Dialect.HANDED_OVER_MICROS));
  }

  /** Notes that a poll, sent after {@code beforeNanos}, found that it has the lock. */
  void noteOwnRow(Row row, long beforeNanos) {
    heard = new HandedOver(
        row.number(), beforeNanos + TimeUnit.MICROSECONDS.toNanos(row.remainingMicros()));
  }

  @Override
  public Optional<Grant> handedOver() {
    HandedOver handedOver = heard;
    if (handedOver == null || notInLine || isOver(handedOver)) {
      return Optional.empty();
    }
    // The engine counts a hand-over's time from before the last request.
    Duration validFor = Duration.ofNanos(handedOver.untilNanos() - askedNanos);
    store.poller.leaveGranted(this);
    return Optional.of(store.granted(claim, stored, handedOver.number(), validFor, true));
  }

  @Override
  public Status poll() throws StoreException {
    HandedOver before = heard;
    askedNanos = store.time.nanos();
    Optional<JdbcGrant> grant = store.acceptOrTake(claim, stored, place);
    if (grant.isPresent()) {
      store.poller.leaveGranted(this);
      return new Granted(grant.get());
    }
    // This "no" is newer than a hand-over that was heard of before it.
    heard = null;
    if (notInLine || (before != null && isOver(before))) {
      return new Gone();
    }
    store.poller.pollAgain(this);
    return new Waiting(RECHECK_AFTER);
  }

  /** Whether the time to accept this hand-over may be over. */
  private boolean isOver(HandedOver handedOver) {
    return handedOver.untilNanos() - store.time.nanos() <= 0;
  }

  @Override
  public Optional<String> holder() {
    return Optional.of(holder);
  }

  @Override
  public void close() throws StoreException {
    store.poller.leave(this);
    store.withdraw(claim);
  }
}
