package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A waiter: a claim's place in the line of its lock, and what this client knows about it. The place
 * is a row in the table of waiters.
 *
 * <p>A lock that was handed over belongs to the waiter even before it accepts it. If the
 * {@link Poller} found the hand-over, the time left is what the row says, counted from before it
 * polled. A notification says when that time ends by the database's clock, and the last poll read
 * that clock: the difference counts from before that poll. Before the first poll it is only known
 * that the hand-over came after the waiter joined, since it found the waiter's row:
 * {@link Protocol#HANDED_OVER_MICROS} count from before that.
 *
 * <p>A time that counts from before the ticket's last request is no grant, but only a reason to
 * ask: the engine looks for a sleep of the machine from that request on. So is one within which it
 * could not be renewed, on a slow network.
 */
final class JdbcTicket implements Ticket {
  private final JdbcStore store;
  final Claim claim;
  final StoredClaim stored;
  final long place;
  final Runnable wakeUp;

  /** The description of the holder that was seen last; null before the first poll. */
  volatile @Nullable String holder;

  /**
   * A permit that was free when this was last looked at or told; or {@link JdbcGrant#NO_PERMIT}.
   */
  volatile int freePermit = JdbcGrant.NO_PERMIT;

  /** Whether the poller found that the line must be {@linkplain Row#isSetBack reopened}. */
  volatile boolean setBack;

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

  /** The time at which that request was answered. */
  private final long inLineSinceNanos;

  private volatile @Nullable HandedOver heard;

  private volatile @Nullable DatabaseClock clock;

  /** The time that the last answer took. */
  private volatile long answerNanos;

  /** Whether {@link #poll()} granted the lock. */
  private boolean granted;

  /**
   * A hand-over to this waiter.
   *
   * @param number the grant number in the row
   * @param afterNanos a time after which it stood
   * @param micros the time for which it certainly stands from then on
   * @param alone whether nobody shares it
   */
  private record HandedOver(long number, long afterNanos, long micros, boolean alone) {
    long untilNanos() {
      return afterNanos + TimeUnit.MICROSECONDS.toNanos(micros);
    }
  }

  /**
   * A reading of the database's clock.
   *
   * @param afterNanos a time after which it was read
   */
  private record DatabaseClock(long micros, long afterNanos) {}

  // Guarded by the poller's monitor.
  long pollAtNanos;

  /** The time by which the next poll may be earlier, if others are polled for then. */
  long earlyNanos;

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
      Runnable wakeUp) {
    this.store = store;
    this.askedNanos = askedNanos;
    this.joinedNanos = askedNanos;
    this.inLineSinceNanos = store.time.nanos();
    this.answerNanos = (inLineSinceNanos - askedNanos) / 2; // To join takes two.
    this.claim = claim;
    this.stored = stored;
    this.place = place;
    this.wakeUp = wakeUp;
  }

  /** Notes what a poll, sent after {@code beforeNanos}, showed of the database's clock. */
  void noteClock(long micros, long beforeNanos) {
    clock = new DatabaseClock(micros, beforeNanos);
    answerNanos = store.time.nanos() - beforeNanos;
  }

  /** Notes what a poll, sent after {@code beforeNanos}, showed. */
  void noteRow(Row row, long beforeNanos) {
    noteClock(row.nowMicros(), beforeNanos);
    List<Integer> free = stored.isForPermit() ? row.freePermits(stored.permits()) : List.of();
    freePermit = free.isEmpty() ? JdbcGrant.NO_PERMIT : free.get(0);
  }

  /**
   * Notes a notification that the lock was handed over to it.
   *
   * @param untilMicros the end of its time, by the database's clock
   * @param alone whether nobody shares the lock
   */
  void noteNotification(long number, long untilMicros, boolean alone) {
    DatabaseClock seen = clock;
    heard = seen == null
        ? new HandedOver(number, joinedNanos, Protocol.HANDED_OVER_MICROS, alone)
        : new HandedOver(number, seen.afterNanos(), untilMicros - seen.micros(), alone);
  }

  /**
   * Notes that a poll, sent after {@code beforeNanos}, found this grant of its claim. A permit is
   * not handed over: that was an earlier poll, whose answer was lost, and the next one gets it.
   */
  void noteGrant(Row.Shown shown, long beforeNanos) {
    if (stored.isForPermit()) {
      return;
    }
    heard = new HandedOver(shown.number(), beforeNanos, shown.remainingMicros(), shown.isAlone());
  }

  /** Whether it joined so recently that its turn can't be over. */
  boolean isNew(long now) {
    return now - inLineSinceNanos < TimeUnit.MICROSECONDS.toNanos(Protocol.ALIVE_MICROS);
  }

  @Override
  public Optional<Grant> handedOver() {
    HandedOver handedOver = heard;
    if (handedOver == null
        || notInLine
        || handedOver.afterNanos() - askedNanos < 0
        || handedOver.untilNanos() - store.time.nanos() <= renewalNanos()) {
      return Optional.empty();
    }
    // The engine counts a hand-over's time from before the last request.
    Duration validFor = Duration.ofNanos(handedOver.untilNanos() - askedNanos);
    store.poller.leaveGranted(this);
    StoredClaim granted = handedOver.alone() ? stored.alone() : stored;
    return Optional.of(
        JdbcGrant.of(store.database, claim, granted, handedOver.number(), validFor, true));
  }

  /**
   * Returns the time for a renewal: two answers, since the pool may check first, and half of one.
   */
  private long renewalNanos() {
    return answerNanos * 5 / 2;
  }

  @Override
  public Status poll() throws StoreException {
    askedNanos = store.time.nanos();
    Optional<JdbcGrant> grant = store.acceptOrTake(this, setBack);
    setBack = false;
    if (grant.isPresent()) {
      granted = true;
      store.poller.leaveGranted(this);
      return new Granted(grant.get());
    }
    // This "no" is newer than a hand-over that was heard of before it.
    heard = null;
    // Only a row that was read proves that the turn is over. After a notification the row may just
    // be locked; the poller looks again.
    if (notInLine) {
      return new Gone();
    }
    store.poller.pollAgain(this);
    return new Waiting(store.poller.recheckAfter());
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    if (!granted) {
      store.poller.leave(this);
      store.withdraw(claim);
    }
  }
}
