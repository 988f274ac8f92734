package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A claim's place in the database's line, which is a row, and what its client knows of it. */
final class Waiter implements Ticket {
  /** The poller looks far more often; this is for the case that it has come to grief. */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(5);

  private final JdbcStore store;
  private final Poller poller;
  private final Claim claim;
  private final Attempt attempt;
  private final long place;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;
  private volatile boolean passedOver;

  // The poller's, guarded by its lock.
  long joinedAtNanos;
  long lookAtNanos;
  long sayAliveAtNanos;
  int looks;
  int failedTakes;
  long firstLookAtNanos;
  int aheadAtFirstLook;

  Waiter(
      JdbcStore store,
      Poller poller,
      Claim claim,
      Attempt attempt,
      long place,
      Runnable wakeUp,
      String holder) {
    this.store = store;
    this.poller = poller;
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

  @Override
  public Status poll() throws StoreException {
    Optional<JdbcGrant> grant = store.acceptOrTake(this);
    if (grant.isPresent()) {
      poller.served(this);
      return new Granted(grant.get());
    }
    if (passedOver) {
      return new Gone();
    }
    poller.lookAgain(this);
    return new Waiting(RECHECK_AFTER);
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
