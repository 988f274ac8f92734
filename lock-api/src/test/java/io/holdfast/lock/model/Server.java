package io.holdfast.lock.model;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The server of a store that does all right: what it is asked, when it is asked. It comes in
 * several makes: with a line or without, one that hands over by itself, with sessions that end.
 */
final class Server {
  private final World world;
  private final Make make;
  private final Map<LockKey, Row> rows = new HashMap<>();

  /** By client: when its session ends. */
  private final long[] sessionUntilNanos = new long[8];

  private long lastNumber;

  /**
   * A sort of store.
   *
   * @param line whether claims that find a name taken stand in line
   * @param handsOver whether a released lock is given to the first in line
   * @param handedOverNanos for how long, at most
   * @param sessionNanos how long a client's locks outlive its last request; 0: their TTL
   * @param pollNanos the longest time between two looks of a waiter
   * @param placeNanos how long a place outlives its last look
   */
  record Make(
      boolean line,
      boolean handsOver,
      long handedOverNanos,
      long sessionNanos,
      long pollNanos,
      long placeNanos) {}

  private static final class Row {
    private @Nullable Claim owner;
    private int ownerIndex;
    private long number;
    private long untilNanos;
    private boolean released;
    private final Deque<Place> line = new ArrayDeque<>();

    /** The last time at which it stopped being taken or waited for. */
    private long takenUntilNanos = -1;
  }

  private static final class Place {
    private final Claim claim;
    private final int index;
    private final Waiting waiting;
    private long untilNanos;
    private long lastQuestion;

    Place(Claim claim, int index, Waiting waiting) {
      this.claim = claim;
      this.index = index;
      this.waiting = waiting;
    }
  }

  /** A client that stands in line; the network carries what it is told. */
  interface Waiting {
    void wake();

    void handedOver(ModelGrant grant, long lastQuestion);
  }

  /** An answer to who wants the lock. */
  record Answer(@Nullable ModelGrant grant, boolean gone, Duration recheckAfter) {}

  Server(World world, Make make) {
    this.world = world;
    this.make = make;
  }

  Make make() {
    return make;
  }

  // Requests

  void sign(int index) {
    sessionUntilNanos[index] = world.nanos() + make.sessionNanos;
  }

  Optional<Grant> tryAcquire(Claim claim, int index) {
    return Optional.ofNullable(take(tidied(claim.key()), claim, index));
  }

  Answer acquireOrQueue(Claim claim, int index, long question, Waiting waiting) {
    Row row = tidied(claim.key());
    ModelGrant grant = take(row, claim, index);
    if (grant == null && make.line && row.line.stream().noneMatch(p -> isSame(p.claim, claim))) {
      row.line.add(new Place(claim, index, waiting));
    }
    return grant == null ? waits(row, claim, question) : new Answer(grant, false, Duration.ZERO);
  }

  Answer poll(Claim claim, int index, long question) {
    Row row = tidied(claim.key());
    boolean inLine = !make.line || row.line.stream().anyMatch(p -> isSame(p.claim, claim));
    if (!inLine && !isSame(row.owner, claim)) {
      return new Answer(null, true, Duration.ZERO);
    }
    ModelGrant grant = take(row, claim, index);
    return grant == null ? waits(row, claim, question) : new Answer(grant, false, Duration.ZERO);
  }

  private Answer waits(Row row, Claim claim, long question) {
    for (Place place : row.line) {
      if (isSame(place.claim, claim)) {
        place.untilNanos = world.nanos() + make.placeNanos;
        place.lastQuestion = question;
      }
    }
    long leftNanos = isTaken(row) ? endNanos(row) - world.nanos() + 1_000_000 : make.pollNanos;
    return new Answer(null, false, Duration.ofNanos(Math.min(leftNanos, make.pollNanos)));
  }

  private @Nullable ModelGrant take(Row row, Claim claim, int index) {
    boolean mine = isSame(row.owner, claim) && !row.released && isTaken(row);
    Place first = row.line.peek();
    if (!mine && (isTaken(row) || (first != null && !isSame(first.claim, claim)))) {
      return null;
    }
    if (!mine) {
      begin(row, claim, index);
    }
    row.line.removeIf(place -> isSame(place.claim, claim));
    row.untilNanos = world.nanos() + claim.ttl().toNanos();
    return new ModelGrant(claim, row.number, told(row));
  }

  private void begin(Row row, Claim claim, int index) {
    row.owner = claim;
    row.ownerIndex = index;
    row.released = false;
    row.number = ++lastNumber;
    world.say(() ->
        "-> grant " + row.number + " of " + claim.key().name() + " to " + (char) ('A' + index));
  }

  ReleaseOutcome release(Grant grant, Duration holdFor) {
    Row row = tidied(grant.claim().key());
    if (!stands(row, grant)) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    row.released = true;
    row.untilNanos = world.nanos() + holdFor.toNanos();
    if (holdFor.isZero()) {
      free(row);
    }
    return ReleaseOutcome.RELEASED;
  }

  void withdraw(Claim claim) {
    Row row = tidied(claim.key());
    if (row.line.removeIf(place -> isSame(place.claim, claim))) {
      row.takenUntilNanos = world.nanos();
      wakeFirst(row);
    }
    if (isSame(row.owner, claim) && !row.released) {
      free(row);
    }
  }

  /** The time that it is good for; empty: it does not stand. */
  Optional<Duration> extend(Grant grant, Duration ttl) {
    Row row = tidied(grant.claim().key());
    if (!stands(row, grant)) {
      return Optional.empty();
    }
    row.untilNanos = Math.max(row.untilNanos, world.nanos() + ttl.toNanos());
    return Optional.of(told(row));
  }

  Optional<Duration> verify(Grant grant) {
    Row row = tidied(grant.claim().key());
    return stands(row, grant) ? Optional.of(told(row)) : Optional.empty();
  }

  boolean force(LockKey key, long number) {
    Row row = tidied(key);
    if (!isTaken(row) || row.number != number) {
      return false;
    }
    free(row);
    return true;
  }

  // For the judge

  /** The number of the grant that has it; 0: nobody. */
  long number(LockKey key) {
    Row row = tidied(key);
    return isTaken(row) ? row.number : 0;
  }

  /** Whether somebody had it, or stood in line for it, at some time since. */
  boolean wasTakenSince(LockKey key, long sinceNanos) {
    Row row = tidied(key);
    return isTaken(row) || !row.line.isEmpty() || row.takenUntilNanos >= sinceNanos;
  }

  /** The names that a grant has that nobody released, and the places in line. */
  List<String> held() {
    List<String> held = new ArrayList<>();
    for (LockKey key : rows.keySet()) {
      Row row = tidied(key);
      if (isTaken(row) && !row.released) {
        held.add(key.name());
      }
      row.line.forEach(place -> held.add("a place for " + key.name()));
    }
    return held;
  }

  /** The locks and waiters that are left, of all but the dead; empty: none. */
  String left(int deadIndexes) {
    StringBuilder left = new StringBuilder();
    for (LockKey key : rows.keySet()) {
      Row row = tidied(key);
      if (isTaken(row) && (deadIndexes >> row.ownerIndex & 1) == 0) {
        left.append(key.name()).append(" is taken by grant ").append(row.number).append("; ");
      }
      for (Place place : row.line) {
        if ((deadIndexes >> place.index & 1) == 0) {
          left.append("a place for ").append(key.name()).append("; ");
        }
      }
    }
    return left.toString();
  }

  // Rows

  /** Without what ended by itself. */
  private Row tidied(LockKey key) {
    Row row = rows.computeIfAbsent(key, k -> new Row());
    if (row.owner != null && !isTaken(row)) {
      row.takenUntilNanos = Math.max(row.takenUntilNanos, endNanos(row));
      row.owner = null;
    }
    Iterator<Place> line = row.line.iterator();
    while (line.hasNext()) {
      Place place = line.next();
      if (place.untilNanos < world.nanos() && place.lastQuestion > 0) {
        row.takenUntilNanos = Math.max(row.takenUntilNanos, place.untilNanos);
        line.remove();
      }
    }
    return row;
  }

  private void free(Row row) {
    row.owner = null;
    row.takenUntilNanos = world.nanos();
    Place first = row.line.peek();
    if (first != null && make.handsOver) {
      row.line.remove();
      begin(row, first.claim, first.index);
      row.untilNanos =
          world.nanos() + Math.min(make.handedOverNanos, first.claim.ttl().toNanos());
      Duration validFor = Duration.ofNanos(endNanos(row) - world.nanos());
      first.waiting.handedOver(
          new ModelGrant(first.claim, row.number, validFor), first.lastQuestion);
    } else {
      wakeFirst(row);
    }
  }

  private static void wakeFirst(Row row) {
    Place first = row.line.peek();
    if (first != null) {
      first.waiting.wake();
    }
  }

  private boolean isTaken(Row row) {
    return row.owner != null && endNanos(row) - world.nanos() > 0;
  }

  private long endNanos(Row row) {
    return make.sessionNanos == 0 || row.released
        ? row.untilNanos
        : Math.min(row.untilNanos, sessionUntilNanos[row.ownerIndex]);
  }

  private boolean stands(Row row, Grant grant) {
    return isTaken(row)
        && !row.released
        && isSame(row.owner, grant.claim())
        && row.number == grant.number();
  }

  private Duration told(Row row) {
    return Duration.ofNanos(endNanos(row) - world.nanos());
  }

  private static boolean isSame(@Nullable Claim kept, Claim claim) {
    return kept != null && kept.ownerId().equals(claim.ownerId());
  }
}
