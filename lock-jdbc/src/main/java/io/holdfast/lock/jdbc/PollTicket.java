package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A place at the client's poller. The database doesn't know of it, so leaving costs nothing. */
final class PollTicket implements Ticket {
  /** The poller looks far more often; this is for the case that it has come to grief. */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(5);

  private final JdbcStore store;
  private final Poller poller;
  private final Claim claim;
  private final String key;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;

  // The poller's, guarded by its lock.
  long joinedAtNanos;
  long lookAtNanos;

  PollTicket(JdbcStore store, Poller poller, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.poller = poller;
    this.claim = claim;
    this.key = Keys.of(claim.key());
    this.wakeUp = wakeUp;
  }

  String key() {
    return key;
  }

  void wake() {
    wakeUp.run();
  }

  void sawHolder(String description) {
    holder = description;
  }

  @Override
  public Status poll() throws StoreException {
    JdbcStore.Attempted attempted = store.attemptAgain(claim);
    if (attempted instanceof JdbcStore.Attempted.Taken taken) {
      poller.leave(this);
      return new Granted(taken.grant());
    }
    holder = ((JdbcStore.Attempted.Busy) attempted).row().holder();
    poller.lookAgain(this);
    return new Waiting(RECHECK_AFTER);
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() {
    poller.leave(this);
  }
}
