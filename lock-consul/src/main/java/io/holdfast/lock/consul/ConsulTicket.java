package io.holdfast.lock.consul;

import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/**
 * A place in a line: a key that is not the first. It hears of the end of the key before it, by one
 * long poll, so that a release wakes one waiter and not all.
 */
final class ConsulTicket implements Ticket {
  /** In case that the long poll came to grief. */
  private static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private final ConsulStore store;
  private final Attempt attempt;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable LongPoll longPoll;

  ConsulTicket(ConsulStore store, Attempt attempt, Runnable wakeUp) {
    this.store = store;
    this.attempt = attempt;
    this.wakeUp = wakeUp;
  }

  /** Waits for whoever is before it in this line; for how long at most. */
  Duration wait(List<Entry> line) {
    if (line.isEmpty()) {
      return Duration.ZERO;
    }
    holder = Mark.parse(line.get(0).value()).holder();
    Entry before = null;
    for (Entry entry : line) {
      if (entry.key().equals(attempt.key())) {
        break;
      }
      before = entry;
    }
    if (before != null && (longPoll == null || !longPoll.isOn(before))) {
      stop();
      longPoll = new LongPoll(before);
      longPoll.start();
    }
    return RECHECK_AFTER;
  }

  @Override
  public Status poll() throws StoreException {
    Budget budget = store.sessions().budget();
    if (attempt.session().isLost()) {
      return over();
    }
    while (true) {
      long sentNanos = budget.beganNanos();
      List<Entry> line = store.line(attempt, budget);
      if (line.stream().noneMatch(this::isOwn)) {
        return over();
      }
      Entry first = line.get(0);
      if (isOwn(first)) {
        stop();
        ConsulGrant grant = attempt.hold(first.createIndex(), sentNanos);
        return attempt.session().isLost() ? over() : new Granted(grant);
      }
      Mark mark = Mark.parse(first.value());
      Duration recheckAfter = wait(line);
      if (!mark.released()) {
        return new Waiting(recheckAfter);
      }
      long leftNanos = store.clearMark(first, mark, budget);
      if (leftNanos > 0) {
        Duration left = Duration.ofNanos(leftNanos);
        return new Waiting(left.compareTo(recheckAfter) < 0 ? left : recheckAfter);
      }
    }
  }

  private boolean isOwn(Entry entry) {
    return entry.key().equals(attempt.key())
        && entry.session().equals(attempt.session().id());
  }

  private Status over() {
    stop();
    store.gone(attempt);
    return new Gone();
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    stop();
    store.leave(attempt, store.sessions().budget());
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
    private volatile @Nullable Call call;

    LongPoll(Entry entry) {
      this.entry = entry;
    }

    void start() {
      call = store.http().watch("v1/kv/" + entry.key(), entry.modifyIndex(), this);
    }

    boolean isOn(Entry other) {
      return !over && entry.key().equals(other.key()) && entry.modifyIndex() == other.modifyIndex();
    }

    void stop() {
      over = true;
      Call asked = call;
      if (asked != null) {
        asked.cancel();
      }
    }

    @Override
    public void answered(int status, String body, long index) {
      over = true;
      wakeUp.run();
    }

    @Override
    public void failed(String why) {
      if (!over) {
        // Not at once: an agent that refuses would be asked without end.
        store.sessions().later(() -> {
          over = true;
          wakeUp.run();
        });
      }
    }
  }
}
