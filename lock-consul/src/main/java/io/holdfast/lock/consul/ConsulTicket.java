package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
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
 *
 * <p>If that key was the first, its end makes this one the first: keys before it are never added.
 * Then the long poll's answer is the grant, and nothing more is asked, as long as the session is
 * sure to live.
 */
final class ConsulTicket implements Ticket {
  /** In case that the long poll came to grief. */
  private static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private static final Duration LONG_POLL = Duration.ofMinutes(1);

  private final ConsulStore store;
  private final Attempt attempt;
  private final Runnable wakeUp;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable LongPoll longPoll;
  private boolean granted;

  ConsulTicket(ConsulStore store, Attempt attempt, Runnable wakeUp) {
    this.store = store;
    this.attempt = attempt;
    this.wakeUp = wakeUp;
  }

  /**
   * Waits for whoever is before it in this line; for how long at most.
   *
   * @param looks what {@link Session#looks} was before the line was read
   */
  Duration wait(List<Entry> line, int looks) {
    if (line.isEmpty()) {
      return Duration.ZERO;
    }
    holder = Mark.parse(line.get(0).value()).holder();
    Entry before = null;
    for (Entry entry : line) {
      if (isOwn(entry)) {
        watch(before, entry, line.get(0).equals(before), looks);
        break;
      }
      before = entry;
    }
    return RECHECK_AFTER;
  }

  private void watch(@Nullable Entry before, Entry own, boolean first, int looks) {
    if (before == null) {
      return;
    }
    if (longPoll == null || !longPoll.isOn(before)) {
      stop();
      longPoll = new LongPoll(before, own.createIndex());
      longPoll.start();
    }
    if (first) {
      longPoll.looksOfFirst = looks;
    }
  }

  @Override
  public Status poll() throws StoreException {
    Session session = attempt.session();
    Session.Sent now = store.now();
    Deadline deadline = store.sessions().deadline();
    LongPoll heard = longPoll;
    if (heard != null && heard.gone && heard.looksOfFirst != null && session.isSure(now)) {
      Status status = granted(heard.ownNumber, now.nanos(), heard.looksOfFirst);
      if (status != null) {
        return status;
      }
    }
    while (!session.isLost()) {
      int looks = session.looks();
      long sentNanos = store.now().nanos();
      List<Entry> line = store.line(attempt, deadline);
      if (line.stream().noneMatch(this::isOwn)) {
        return over();
      }
      Entry first = line.get(0);
      if (isOwn(first)) {
        Status status = granted(first.createIndex(), sentNanos, looks);
        if (status != null) {
          return status;
        }
        continue;
      }
      Mark mark = Mark.parse(first.value());
      Duration recheckAfter = wait(line, looks);
      if (!mark.released()) {
        return new Waiting(recheckAfter);
      }
      long leftNanos = store.marks().clear(first, mark, deadline);
      if (leftNanos > 0) {
        Duration left = Duration.ofNanos(leftNanos);
        return new Waiting(left.compareTo(recheckAfter) < 0 ? left : recheckAfter);
      }
    }
    return over();
  }

  /** Null: it may have been taken by force already, and has to be looked for once more. */
  private @Nullable Status granted(long number, long sentNanos, int looks) {
    stop();
    ConsulGrant grant = attempt.hold(number, sentNanos);
    if (attempt.session().isLost()) {
      return over();
    }
    if (attempt.session().looks() != looks) {
      return null;
    }
    granted = true;
    return new Granted(grant);
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
    if (!granted) {
      store.leave(attempt, store.sessions().deadline());
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
    private final long ownNumber;

    /** What {@link Session#looks} was before nobody was seen before the entry; the waiter's own. */
    private @Nullable Integer looksOfFirst;

    private volatile boolean over;
    private volatile boolean gone;
    private volatile @Nullable Call call;

    /** @param ownNumber the number of the attempt's own key */
    LongPoll(Entry entry, long ownNumber) {
      this.entry = entry;
      this.ownNumber = ownNumber;
    }

    void start() {
      call = store.http().watch(entry.key(), entry.modifyIndex(), LONG_POLL, this);
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
    public void answered(@Nullable Entry now, long index) {
      // What is told of a time before the attempt was in the line proves nothing: a server that was
      // just started may not have read of either key yet.
      gone = now == null ? index > ownNumber : now.createIndex() > ownNumber;
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
