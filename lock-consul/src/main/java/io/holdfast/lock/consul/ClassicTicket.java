package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Optional;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/**
 * Somebody who wants a key that somebody else has. There is no line: whoever asks first after the
 * key was freed gets it. A long poll tells when to ask.
 */
final class ClassicTicket implements Ticket {
  /** In case that the long poll came to grief. */
  private static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private static final Duration LONG_POLL = Duration.ofMinutes(1);

  /** Nothing tells of the end of a lock-delay. */
  private static final Duration DELAY_RECHECK_AFTER = Duration.ofMillis(500);

  private final ClassicStore store;
  private final Claim claim;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable Attempt attempt;
  private boolean doubtful;
  private @Nullable LongPoll longPoll;

  ClassicTicket(ClassicStore store, Claim claim, Runnable wakeUp) {
    this.store = store;
    this.claim = claim;
    this.wakeUp = wakeUp;
  }

  @Override
  public Status poll() throws StoreException {
    Deadline deadline = store.deadline();
    if (attempt != null) {
      attempt.seen(store.nowNanos());
    }
    LongPoll heard = longPoll;
    // Who hears that the key is free does not look first: others have heard it as well.
    boolean looked = heard != null && heard.free;
    while (true) {
      if (!looked && store.look(claim.key(), deadline) instanceof ClassicStore.Look.Taken taken) {
        return wait(taken);
      }
      looked = false;
      stop();
      Attempt mine = attempt;
      if (mine == null) {
        mine = store.begin(claim, deadline);
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
      longPoll = new LongPoll(entry);
      longPoll.start();
    }
    Duration markLeft = taken.markLeft();
    return new Waiting(
        markLeft != null && markLeft.compareTo(RECHECK_AFTER) < 0 ? markLeft : RECHECK_AFTER);
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
      store.abandon(mine, store.deadline());
      attempt = null;
    }
  }

  private void stop() {
    if (longPoll != null) {
      longPoll.stop();
      longPoll = null;
    }
  }

  /** One question to Consul: tell me when this key has changed. */
  private final class LongPoll implements ConsulHttp.Heard {
    private final Entry entry;
    private volatile boolean over;
    private volatile boolean free;
    private volatile @Nullable Call call;

    LongPoll(Entry entry) {
      this.entry = entry;
    }

    void start() {
      call = store.http().watch(entry.key(), entry.modifyIndex(), LONG_POLL, this);
    }

    boolean isOn(Entry other) {
      return !over && entry.modifyIndex() == other.modifyIndex();
    }

    void stop() {
      over = true;
      Call asked = call;
      if (asked != null) {
        asked.cancel();
      }
    }

    @Override
    public void answered(@Nullable Entry now, long index) {
      free = now == null || now.session().isEmpty();
      over = true;
      wakeUp.run();
    }

    @Override
    public void failed(String why) {
      if (!over) {
        // Not at once: an agent that refuses would be asked without end.
        store.later(() -> {
          over = true;
          wakeUp.run();
        });
      }
    }
  }
}
