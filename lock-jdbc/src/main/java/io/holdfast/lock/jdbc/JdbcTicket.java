package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A claim's place in the line of its lock (a row), and what this client knows about it.
 *
 * <p>A lock that was handed over belongs to the waiter even before it accepts it. If a poll found
 * the hand-over, the time left is what the row says, counted from before the poll was sent. If a
 * notification told of it, the time left is {@link Dialect#HANDED_OVER_MICROS}, counted from before
 * the waiter joined: the hand-over found the waiter's row, so it cannot be older. It can be older
 * than a later poll that still showed the waiter in line, since it may have been under way.
 */
final class JdbcTicket implements Ticket {
  /**
   * The time to the engine's next poll. Only for the case that the {@link Poller}, which polls far
   * more often, has failed.
   */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(5);

  private final JdbcStore store;
  private final Poller poller;
  private final TimeSource time;
  private final Claim claim;
  private final StoredClaim stored;
  private final long place;
  private final Runnable wakeUp;
  private volatile String holder;
  private volatile boolean passedOver;

  /** The time just before the waiting thread's last request. */
  private volatile long askedNanos;

  /** The time just before the request with which it joined the line. */
  private final long joinedNanos;

  private volatile @Nullable HandedOver heard;

  /**
   * A hand-over to this waiter.
   *
   * @param number the grant number in the row
   * @param untilNanos the time at which it ends unless it is accepted, or a little earlier
   */
  private record HandedOver(long number, long untilNanos) {}

  // Used by the poller and guarded by its monitor.
  long lookAtNanos;
  long sayAliveAtNanos;
  long announceAtNanos;
  int failedTakes;
  final LookPace pace = new LookPace();

  JdbcTicket(
      JdbcStore store,
      Poller poller,
      TimeSource time,
      long askedNanos,
      Claim claim,
      StoredClaim stored,
      long place,
      Runnable wakeUp,
      String holder) {
    this.store = store;
    this.poller = poller;
    this.time = time;
    this.askedNanos = askedNanos;
    this.joinedNanos = askedNanos;
    this.claim = claim;
    this.stored = stored;
    this.place = place;
    this.wakeUp = wakeUp;
    this.holder = holder;
  }

  StoredClaim stored() {
    return stored;
  }

  String ownerId() {
    return stored.owner();
  }

  void wake() {
    wakeUp.run();
  }

  void sawHolder(String description) {
    holder = description;
  }

  /**
   * Notes that it is no longer in the line: the lock went to a later waiter, or its row was
   * deleted.
   */
  void sawItselfPassedOver() {
    passedOver = true;
  }

  boolean isPassedOver() {
    return passedOver;
  }

  /** Notes a notification that the lock was handed over to it. */
  void heardOfHandOver(long number) {
    heard = new HandedOver(
        number, joinedNanos + TimeUnit.MICROSECONDS.toNanos(Dialect.HANDED_OVER_MICROS));
  }

  /** Notes that a poll, sent after {@code beforeNanos}, found that it has the lock. */
  void sawItsRow(Row row, long beforeNanos) {
    heard = new HandedOver(
        row.number(), beforeNanos + TimeUnit.MICROSECONDS.toNanos(row.remainingMicros()));
  }

  @Override
  public Optional<Grant> handedOver() {
    HandedOver handedOver = heard;
    if (handedOver == null || passedOver || isOver(handedOver)) {
      return Optional.empty();
    }
    // The engine counts a hand-over's time from before the last request.
    Duration validFor = Duration.ofNanos(handedOver.untilNanos() - askedNanos);
    poller.served(this);
    return Optional.of(store.granted(claim, stored, handedOver.number(), validFor, true));
  }

  @Override
  public Status poll() throws StoreException {
    HandedOver before = heard;
    askedNanos = time.nanos();
    Optional<JdbcGrant> grant = store.acceptOrTake(claim, stored, place);
    if (grant.isPresent()) {
      poller.served(this);
      return new Granted(grant.get());
    }
    // This "no" is newer than a hand-over that was heard of before it.
    heard = null;
    if (passedOver || (before != null && isOver(before))) {
      return new Gone();
    }
    poller.lookAgain(this);
    return new Waiting(RECHECK_AFTER);
  }

  /** Whether the time to accept this hand-over may be over. */
  private boolean isOver(HandedOver handedOver) {
    return handedOver.untilNanos() - time.nanos() <= 0;
  }

  @Override
  public Optional<String> holder() {
    return Optional.of(holder);
  }

  @Override
  public void close() throws StoreException {
    poller.leave(this);
    store.withdraw(claim);
  }
}
