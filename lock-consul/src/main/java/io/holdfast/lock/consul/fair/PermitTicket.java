package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A place among those who wait for a permit. The first of them watches all keys of the semaphore,
 * and asks for a permit as soon as one is free; each of the others watches the key of the one
 * before it, which is written to when that one gets a permit or leaves. So a release wakes one
 * waiter, and that one's permit wakes the next.
 */
final class PermitTicket implements Ticket {
  private final Permits permits;
  private final Candidate candidate;
  private final Attempt attempt;
  private final Runnable wakeUp;
  private final long recheckNanos;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable FolderWatch all;
  private @Nullable LongPoll before;
  private @Nullable Line seenLine;
  private boolean granted;

  PermitTicket(Permits permits, Candidate candidate, Runnable wakeUp) {
    this.permits = permits;
    this.candidate = candidate;
    this.attempt = candidate.attempt();
    this.wakeUp = wakeUp;
    this.recheckNanos =
        Math.min(attempt.session().ttlNanos() / 2, LongPoll.RECHECK_AFTER.toNanos());
  }

  /** Waits for what may bring a permit; for how long at most. */
  Duration wait(Candidate.Outcome outcome) {
    if (!(outcome instanceof Candidate.Taken taken)) {
      return Duration.ZERO;
    }
    Candidate.View view = taken.view();
    seenLine = view.line().line();
    holder = view.line().holders().stream()
        .findFirst()
        .map(place -> place.mark().holder())
        .orElse(null);
    List<Line.Place> waiting = view.line().waitingBefore(taken.own());
    if (waiting.isEmpty()) {
      watchAll(view.index());
    } else {
      watch(waiting.get(waiting.size() - 1));
    }
    return Duration.ofNanos(Math.min(recheckNanos, taken.leftNanos()));
  }

  private void watchAll(long index) {
    if (all == null || all.isEnded()) {
      stop();
      all = new FolderWatch(
          permits.http(),
          permits.sessions().ticker()::later,
          permits.folder(attempt.claim().key()),
          candidate::isNews,
          wakeUp);
      all.start(index);
    }
  }

  private void watch(Line.Place place) {
    if (before == null || !before.isOn(place.entry())) {
      stop();
      before =
          new LongPoll(permits.http(), permits.sessions().ticker()::later, place.entry(), wakeUp);
      before.start();
    }
  }

  @Override
  public Status poll() throws StoreException {
    attempt.seen(permits.nanos());
    if (attempt.session().isLost()) {
      return over();
    }
    Deadline deadline = permits.http().deadline();
    Candidate.Outcome outcome = candidate.settleOrWait(candidate.look(deadline), deadline);
    if (outcome instanceof Candidate.Granted given) {
      stop();
      granted = true;
      return new Granted(given.grant());
    }
    return outcome instanceof Candidate.Taken ? new Waiting(wait(outcome)) : over();
  }

  private Status over() {
    stop();
    permits.sessions().abandoned().add(attempt);
    return new Gone();
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    stop();
    if (granted) {
      return;
    }
    permits.leave(attempt, permits.http().deadline());
    Line left = seenLine;
    seenLine = null;
    if (left != null) {
      // This client may be gone before it has seen an orphan for long enough.
      permits.sessions().countDown(left, attempt.claim());
    }
  }

  private void stop() {
    if (all != null) {
      all.stop();
      all = null;
    }
    if (before != null) {
      before.stop();
      before = null;
    }
  }
}
