package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.line.Bid;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.PermitLine;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * An attempt at a semaphore whose key is in the line: it sees there whether it has the permit that
 * it asks for, and asks for another if not. Used by one thread at a time, but for {@link #isNews}.
 */
final class Candidate {
  /**
   * For how long it waits at once for somebody to leave whose number of permits is another than
   * what the rest says: one that was refused for it, and is about to.
   */
  private static final long LEAVING_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);

  private final Permits permits;
  private final Attempt attempt;
  private final Vanished vanished = new Vanished();

  /**
   * Whether the semaphore has as many permits as it says: everybody in line has said so, once. It
   * stays so for as long as its place is there, since whoever comes later sees that.
   */
  private boolean admitted;

  /** Until when it waits for those to leave. */
  private long leavingUntilNanos;

  /** The places that only time ends, as the line was last read. */
  private volatile Set<Line.Place> timedSeen = Set.of();

  /**
   * A reading of the line.
   *
   * @param index it tells of the state at this index or later
   * @param sentNanos when it was asked for
   * @param looks what the session's was before that
   */
  record View(PermitLine line, long index, long sentNanos, int looks) {}

  /** The end that it came to. */
  sealed interface Outcome {}

  /** It has a permit. */
  record Granted(ConsulGrant grant) implements Outcome {}

  /**
   * It has none, and its place in line.
   *
   * @param own its place there
   * @param leftNanos after which it may have one by the time that has passed
   */
  record Taken(View view, Line.Place own, long leftNanos) implements Outcome {}

  /** It has no place any more. */
  record Left() implements Outcome {}

  /** Nothing yet: there is a newer reading. */
  private record Seen(View view) implements Outcome {}

  Candidate(Permits permits, Attempt attempt) {
    this.permits = permits;
    this.attempt = attempt;
  }

  Attempt attempt() {
    return attempt;
  }

  /** Makes the reading that came with the attempt's own key. */
  View joined(Line line, int looks, long sentNanos) {
    return new View(new PermitLine(line), attempt.number(), sentNanos, looks);
  }

  /** Reads the line. */
  View look(Deadline deadline) throws StoreException {
    int looks = attempt.session().looks();
    long sentNanos = permits.nanos();
    return view(permits.tree(attempt.claim().key(), deadline), sentNanos, looks);
  }

  /** Reads the line when it has changed after this index, or that long after the question. */
  private View lookAfter(long index, Duration wait, Deadline deadline) throws StoreException {
    int looks = attempt.session().looks();
    long sentNanos = permits.nanos();
    return view(permits.treeAfter(attempt.claim().key(), index, wait, deadline), sentNanos, looks);
  }

  private static View view(ConsulHttp.Tree tree, long sentNanos, int looks) {
    return new View(new PermitLine(new Line(tree.entries())), tree.index(), sentNanos, looks);
  }

  /**
   * Finds out whether it has a permit, or can have one now.
   *
   * @throws StoreException of {@link StoreException#permitsDiffer}: it has left; any other: its
   *     place may still be there
   */
  Outcome settle(View joined, Deadline deadline) throws StoreException {
    // With time left to leave the line itself.
    leavingUntilNanos = permits.nanos() + Math.min(LEAVING_NANOS_MAX, deadline.leftNanos() / 2);
    try {
      Outcome outcome = new Seen(joined);
      while (outcome instanceof Seen seen) {
        outcome = settleBy(seen.view(), deadline);
      }
      return outcome;
    } catch (StoreException e) {
      throw e.permitsStored().isPresent() ? e : Joining.afterJoining(e);
    }
  }

  /** The same, of one that waits if it has to: then it asks for no permit in particular. */
  Outcome settleOrWait(View joined, Deadline deadline) throws StoreException {
    Outcome outcome = settle(joined, deadline);
    while (outcome instanceof Taken && bid().isForPermit()) {
      try {
        outcome = ask(bid().waitingSince(attempt.number()), deadline);
      } catch (StoreException e) {
        throw Joining.afterJoining(e);
      }
      if (outcome instanceof Seen seen) {
        outcome = settle(seen.view(), deadline);
      }
    }
    return outcome;
  }

  private Outcome settleBy(View view, Deadline deadline) throws StoreException {
    PermitLine line = view.line();
    permits.note(line.line());
    Line.Place own = attempt.placeIn(line.line());
    if (own == null) {
      return new Left();
    }
    boolean isNext = line.waitingBefore(own).isEmpty();
    if (isNext) {
      vanished.see(line, view.index(), permits.nanos());
    }
    PermitLine.Agreement agreement = line.agreement(bid().permits(), own);
    admitted |= agreement == PermitLine.Agreement.ALL;
    if (!admitted && agreement == PermitLine.Agreement.NONE) {
      return refused(line, own, deadline);
    }
    if (!admitted) {
      long waitNanos = leavingUntilNanos - permits.nanos();
      return waitNanos > 0
          ? new Seen(lookAfter(view.index(), Duration.ofNanos(waitNanos), deadline))
          : taken(view, own, deadline);
    }
    if (isNext && line.isHolder(own) && !vanished.covers(bid().permit(), permits.nanos())) {
      return hold(view, deadline);
    }
    List<Integer> free = isNext ? free(line, own) : List.of();
    return free.isEmpty()
        ? taken(view, own, deadline)
        : ask(bid().on(free.get(ThreadLocalRandom.current().nextInt(free.size()))), deadline);
  }

  /** Leaves, if what says another number of permits is not over by now. */
  private Outcome refused(PermitLine line, Line.Place own, Deadline deadline)
      throws StoreException {
    if (permits.clear(line.line(), deadline) == 0) {
      return new Seen(look(deadline));
    }
    permits.leave(attempt, deadline);
    permits.sessions().countDown(line.line(), attempt.claim());
    throw StoreException.permitsDiffer(attempt.claim(), line.permits(own));
  }

  private Outcome hold(View view, Deadline deadline) throws StoreException {
    ConsulGrant grant = attempt.hold(view.sentNanos(), view.sentNanos());
    if (grant == null || attempt.session().isLost()) {
      return new Left();
    }
    // Else it may have been taken by force already.
    return attempt.session().looks() == view.looks()
        ? new Granted(grant)
        : new Seen(look(deadline));
  }

  private Outcome taken(View view, Line.Place own, Deadline deadline) throws StoreException {
    Line line = view.line().line();
    long leftNanos = permits.clear(line, deadline);
    if (leftNanos == 0) {
      return new Seen(look(deadline));
    }
    timedSeen = Set.copyOf(line.timed());
    return new Taken(view, own, Math.min(leftNanos, vanished.leftNanos(permits.nanos())));
  }

  /** Asks for another permit, or none. */
  private Outcome ask(Bid bid, Deadline deadline) throws StoreException {
    attempt.bidAnew(bid);
    int looks = attempt.session().looks();
    long sentNanos = permits.nanos();
    Line line = permits.joining().lock(attempt, deadline);
    return line == null ? new Left() : new Seen(joined(line, looks, sentNanos));
  }

  private Bid bid() {
    return Objects.requireNonNull(attempt.bid());
  }

  private List<Integer> free(PermitLine line, Line.Place own) {
    long nowNanos = permits.nanos();
    return line.free(bid().permits(), own).stream()
        .filter(permit -> !vanished.covers(permit, nowNanos))
        .toList();
  }

  /** Whether there is something new for an attempt that waits, and is the first that does. */
  boolean isNews(ConsulHttp.Tree tree) {
    PermitLine line = new PermitLine(new Line(tree.entries()));
    vanished.see(line, tree.index(), permits.nanos());
    Line.Place own = attempt.placeIn(line.line());
    return own == null
        || !free(line, own).isEmpty()
        || !timedSeen.containsAll(line.line().timed());
  }
}
