package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
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
 * A claim's place in the database's line, which is a row, and what its client knows of it.
 *
 * <p>A lock that was handed over to it is its own before it accepts it. If a look found that, for
 * as long as the row says, from when the look was sent. If a notification says it, for
 * {@link Dialect#HANDED_OVER_MICROS} from before it joined: the statement that handed over saw its
 * row. (A later look that shows it in the line proves less: that statement may be under way, and
 * count from before the look.)
 */
final class Waiter implements Ticket {
  /** The poller looks far more often; this is for the case that it has come to grief. */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(5);

  private final JdbcStore store;
  private final Poller poller;
  private final TimeSource time;
  private final Claim claim;
  private final Attempt attempt;
  private final long place;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;
  private volatile boolean passedOver;

  /** Before the last question of its thread. */
  private volatile long askedNanos;

  /** Before it joined. */
  private final long joinedNanos;

  private volatile @Nullable HandedOver heard;

  /**
   * A hand-over to this waiter.
   *
   * @param number the row's number since then
   * @param untilNanos when it ends unless it is accepted, or earlier
   */
  private record HandedOver(long number, long untilNanos) {}

  // The poller's, guarded by its lock.
  long joinedAtNanos;
  long lookAtNanos;
  long sayAliveAtNanos;
  long announceAtNanos;
  int looks;
  int failedTakes;
  long firstLookAtNanos;
  int aheadAtFirstLook;

  Waiter(
      JdbcStore store,
      Poller poller,
      TimeSource time,
      long askedNanos,
      Claim claim,
      Attempt attempt,
      long place,
      Runnable wakeUp,
      String holder) {
    this.store = store;
    this.poller = poller;
    this.time = time;
    this.askedNanos = askedNanos;
    this.joinedNanos = askedNanos;
    this.claim = claim;
    this.attempt = attempt;
    this.place = place;
    this.wakeUp = wakeUp;
    this.holder = holder;
  }

  Claim claim() {
    return claim;
  }

  Attempt attempt() {
    return attempt;
  }

  long place() {
    return place;
  }

  String key() {
    return attempt.key();
  }

  String ownerId() {
    return attempt.owner();
  }

  void wake() {
    wakeUp.run();
  }

  void sawHolder(String description) {
    holder = description;
  }

  /** It is in no line any more: others came before it, or its row was deleted. */
  void sawItselfPassedOver() {
    passedOver = true;
  }

  boolean isPassedOver() {
    return passedOver;
  }

  /** A notification says that the lock was handed over to it. */
  void heardOfHandOver(long number) {
    heard = new HandedOver(
        number, joinedNanos + TimeUnit.MICROSECONDS.toNanos(Dialect.HANDED_OVER_MICROS));
  }

  /** A look found that it has the lock. */
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
    // The engine counts from the begin of the last question.
    Duration validFor = Duration.ofNanos(handedOver.untilNanos() - askedNanos);
    poller.served(this);
    return Optional.of(store.granted(claim, handedOver.number(), validFor));
  }

  @Override
  public Status poll() throws StoreException {
    HandedOver before = heard;
    askedNanos = time.nanos();
    Optional<JdbcGrant> grant = store.acceptOrTake(this);
    if (grant.isPresent()) {
      poller.served(this);
      return new Granted(grant.get());
    }
    // What was heard before this "no" proves nothing after it.
    heard = null;
    if (passedOver || (before != null && isOver(before))) {
      return new Gone();
    }
    poller.lookAgain(this);
    return new Waiting(RECHECK_AFTER);
  }

  /** Whether a hand-over to it may be over. */
  private boolean isOver(HandedOver handedOver) {
    return handedOver.untilNanos() - time.nanos() <= 0;
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    poller.leave(this);
    store.withdraw(claim);
  }
}
