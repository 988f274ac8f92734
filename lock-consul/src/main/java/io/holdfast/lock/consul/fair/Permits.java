package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.line.Bid;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.PermitLine;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.Sessions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The protocol of semaphores: each permit is a lock by itself, in one folder, and an attempt asks
 * for one of them with its key. See docs/decisions/consul-a-semaphore-is-a-lock-for-each-permit.md.
 * Thread-safe.
 */
final class Permits {
  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final Joining joining;
  private final TimeSource time;
  private final LastTaken lastTaken = new LastTaken();

  Permits(ConsulHttp http, Keys keys, Sessions sessions, Joining joining, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.joining = joining;
    this.time = time;
  }

  /** An attempt that joined the line, and the end that it came to. */
  private record Joined(Candidate candidate, Candidate.Outcome outcome) {}

  Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = http.deadline();
    if (lastTaken.contains(claim.key()) && isTaken(claim, deadline)) {
      return Optional.empty();
    }
    lastTaken.remove(claim.key());
    Joined joined = join(claim, before -> first(claim, before), Candidate::settle, deadline);
    if (joined.outcome() instanceof Candidate.Granted granted) {
      return Optional.of(granted.grant());
    }
    try {
      leave(joined.candidate().attempt(), deadline);
    } catch (StoreException e) {
      throw Joining.afterJoining(e);
    }
    if (joined.outcome() instanceof Candidate.Taken taken) {
      lastTaken.add(claim.key());
      sessions.countDown(taken.view().line().line(), claim);
      return Optional.empty();
    }
    throw StoreException.unanswered("The attempt ended while it asked for a permit", null);
  }

  /** Whether somebody who does not wait gets no permit, by a look that changes nothing. */
  private boolean isTaken(Claim claim, Deadline deadline) throws StoreException {
    Line line = new Line(tree(claim.key(), deadline).entries());
    note(line);
    PermitLine permitLine = new PermitLine(line);
    boolean differs = permitLine.agreement(claim.permits(), null) == PermitLine.Agreement.NONE;
    boolean isTaken = differs
        || permitLine.isAwaited()
        || permitLine.free(claim.permits(), null).isEmpty();
    if (!isTaken || clear(line, deadline) == 0) {
      return false;
    }
    sessions.countDown(line, claim);
    if (differs) {
      throw StoreException.permitsDiffer(claim, permitLine.permits(null));
    }
    return true;
  }

  /** The step of an attempt once it is in line. */
  private interface Settling {
    Candidate.Outcome settle(Candidate candidate, Candidate.View joined, Deadline deadline)
        throws StoreException;
  }

  private Joined join(Claim claim, Sessions.Bidding bidding, Settling settling, Deadline deadline)
      throws StoreException {
    try {
      return joining.join(
          claim,
          bidding,
          (attempt, line, looks, sentNanos, until) -> {
            Candidate candidate = new Candidate(this, attempt);
            Candidate.View joined = candidate.joined(line, looks, sentNanos);
            return new Joined(candidate, settling.settle(candidate, joined, until));
          },
          deadline);
    } catch (StoreException e) {
      if (e.permitsStored().isPresent()) {
        // Whoever asks again looks first, and is in nobody's way.
        lastTaken.add(claim.key());
      }
      throw e;
    }
  }

  Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    boolean wasTaken = lastTaken.contains(claim.key());
    Joined joined = join(
        claim,
        before -> wasTaken ? new Bid(Bid.NONE, claim.permits(), 0) : first(claim, before),
        Candidate::settleOrWait,
        http.deadline());
    if (joined.outcome() instanceof Candidate.Granted granted) {
      lastTaken.remove(claim.key());
      return new Acquisition.Granted(granted.grant());
    }
    lastTaken.add(claim.key());
    joined.candidate().attempt().onNews(wakeUp);
    PermitTicket ticket = new PermitTicket(this, joined.candidate(), wakeUp);
    return new Acquisition.Queued(ticket, ticket.wait(joined.outcome()));
  }

  /**
   * The permit that is asked for without having seen which are free: the one that was given back
   * with the same key, or any.
   */
  private static Bid first(Claim claim, int before) {
    boolean isKnown = before != Bid.NONE && before < claim.permits();
    int permit = isKnown ? before : ThreadLocalRandom.current().nextInt(claim.permits());
    return new Bid(permit, claim.permits(), 0);
  }

  Joining joining() {
    return joining;
  }

  Sessions sessions() {
    return sessions;
  }

  ConsulHttp http() {
    return http;
  }

  long nanos() {
    return time.nanos();
  }

  ConsulHttp.Tree tree(LockKey key, Deadline deadline) throws StoreException {
    return http.tree(keys.line(key), deadline);
  }

  /** The same, once something in it has changed after this index, or after that time. */
  ConsulHttp.Tree treeAfter(LockKey key, long index, Duration wait, Deadline deadline)
      throws StoreException {
    return http.treeAfter(keys.line(key), index, wait, deadline);
  }

  String folder(LockKey key) {
    return keys.line(key);
  }

  void note(Line line) {
    sessions.orphans().note(line);
  }

  /** Ends what only time ends, as {@link io.holdfast.lock.consul.line.Orphans#clearAll} does. */
  long clear(Line line, Deadline deadline) throws StoreException {
    return sessions.orphans().clearAll(line, deadline);
  }

  void leave(Attempt attempt, Deadline deadline) throws StoreException {
    sessions.abandoned().free(attempt, deadline);
  }
}
