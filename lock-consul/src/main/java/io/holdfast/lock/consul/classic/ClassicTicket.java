package io.holdfast.lock.consul.classic;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Somebody who wants a key that somebody else has. There is no line: whoever asks first after the
 * key was freed gets it. A long poll tells when to ask.
 */
public final class ClassicTicket implements Ticket {
  /** Nothing tells of the end of a lock-delay. */
  private static final Duration DELAY_RECHECK_AFTER = Duration.ofMillis(500);

  private final ClassicStore store;
  private final ClassicSessions sessions;
  private final Claim claim;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable Attempt attempt;
  private boolean doubtful;
  private @Nullable LongPoll longPoll;

  ClassicTicket(ClassicStore store, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.sessions = store.sessions();
    this.claim = claim;
    this.wakeUp = wakeUp;
  }

  @Override
  public Status poll() throws StoreException {
    Deadline deadline = store.http().deadline();
    if (attempt != null) {
      attempt.seen(sessions.nowNanos());
    }
    // Who hears that the key is free does not look first: others have heard it as well.
    boolean looked = hasHeardThatItIsFree();
    while (true) {
      if (!looked && store.look(claim.key(), deadline) instanceof ClassicStore.Look.Taken taken) {
        return wait(taken);
      }
      looked = false;
      stop();
      Attempt mine = attempt;
      if (mine == null) {
        mine = sessions.begin(claim, deadline);
        attempt = mine;
      }
      ClassicStore.Answer answer = ask(mine, deadline);
      if (answer instanceof ClassicStore.Answer.Yes yes) {
        // From now on it is not this ticket's to end.
        attempt = null;
        return new Granted(yes.grant());
      } else if (answer instanceof ClassicStore.Answer.NotYet) {
        return new Waiting(DELAY_RECHECK_AFTER);
      } else if (answer instanceof ClassicStore.Answer.SessionGone) {
        attempt = null;
      }
      // Else somebody else was faster, and is looked for.
    }
  }

  private boolean hasHeardThatItIsFree() {
    LongPoll.News news = longPoll == null ? null : longPoll.news();
    return news != null && (news.entry() == null || news.entry().session().isEmpty());
  }

  private ClassicStore.Answer ask(Attempt mine, Deadline deadline) throws StoreException {
    try {
      return store.ask(mine, deadline);
    } catch (StoreException e) {
      // If it may have happened, the claim is withdrawn, and takes the session along.
      doubtful = e.mayHaveHappened();
      throw e;
    }
  }

  private Status wait(ClassicStore.Look.Taken taken) {
    Entry entry = taken.entry();
    holder = ClassicStore.describe(entry);
    if (longPoll == null || !longPoll.isOn(entry)) {
      stop();
      longPoll = new LongPoll(store.http(), sessions.ticker()::later, entry, wakeUp);
      longPoll.start();
    }
    Duration markLeft = taken.markLeft();
    return new Waiting(
        markLeft != null && markLeft.compareTo(LongPoll.RECHECK_AFTER) < 0
            ? markLeft
            : LongPoll.RECHECK_AFTER);
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() {
    stop();
    Attempt mine = attempt;
    if (mine != null && !doubtful) {
      sessions.abandon(mine, store.http().deadline());
      attempt = null;
    }
  }

  private void stop() {
    if (longPoll != null) {
      longPoll.stop();
      longPoll = null;
    }
  }
}
