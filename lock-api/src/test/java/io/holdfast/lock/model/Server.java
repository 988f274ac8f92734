package io.holdfast.lock.model;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
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
    /** One, if it is no semaphore. */
    private List<Permit> permits = List.of(new Permit());

    private final Deque<Place> line = new ArrayDeque<>();

    /** The last time at which it stopped being taken or waited for. */
    private long takenUntilNanos = -1;
  }

  private static final class Permit {
    private @Nullable Claim owner;
    private int ownerIndex;
    private long number;
    private long untilNanos;
    private boolean released;
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
    return Optional.ofNullable(take(tidied(claim), claim, index));
  }

  Answer acquireOrQueue(Claim claim, int index, long question, Waiting waiting) {
    Row row = tidied(claim);
    ModelGrant grant = take(row, claim, index);
    if (grant == null && make.line && row.line.stream().noneMatch(p -> isSame(p.claim, claim))) {
      row.line.add(new Place(claim, index, waiting));
    }
    return grant == null ? waits(row, claim, question) : new Answer(grant, false, Duration.ZERO);
  }

  Answer poll(Claim claim, int index, long question) {
    Row row = tidied(claim.key());
    boolean inLine = !make.line || row.line.stream().anyMatch(p -> isSame(p.claim, claim));
    if (!inLine && row.permits.stream().noneMatch(p -> isSame(p.owner, claim))) {
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
    long nextNanos = make.pollNanos;
    if (free(row) == null) {
      for (Permit permit : row.permits) {
        nextNanos = Math.min(nextNanos, endNanos(permit) - world.nanos() + 1_000_000);
      }
    }
    return new Answer(null, false, Duration.ofNanos(nextNanos));
  }

  private @Nullable ModelGrant take(Row row, Claim claim, int index) {
    Permit permit = permit(row, p -> isSame(p.owner, claim) && !p.released && isTaken(p));
    if (permit == null) {
      Place first = row.line.peek();
      permit = first == null || isSame(first.claim, claim) ? free(row) : null;
      if (permit == null) {
        return null;
      }
      begin(permit, claim, index);
    }
    row.line.removeIf(place -> isSame(place.claim, claim));
    permit.untilNanos = world.nanos() + claim.ttl().toNanos();
    if (free(row) != null) {
      wakeFirst(row);
    }
    return grant(row, permit, claim);
  }

  private void begin(Permit permit, Claim claim, int index) {
    permit.owner = claim;
    permit.ownerIndex = index;
    permit.released = false;
    permit.number = ++lastNumber;
    world.say(() ->
        "-> grant " + permit.number + " of " + claim.key().name() + " to " + (char) ('A' + index));
  }

  private ModelGrant grant(Row row, Permit permit, Claim claim) {
    return new ModelGrant(claim, permit.number, row.permits.indexOf(permit), told(permit));
  }

  ReleaseOutcome release(Grant grant, Duration holdFor) {
    Row row = tidied(grant.claim().key());
    Permit permit = standing(row, grant);
    if (permit == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    permit.released = true;
    permit.untilNanos = world.nanos() + holdFor.toNanos();
    if (holdFor.isZero()) {
      free(row, permit);
    }
    return ReleaseOutcome.RELEASED;
  }

  void withdraw(Claim claim) {
    Row row = tidied(claim.key());
    if (row.line.removeIf(place -> isSame(place.claim, claim))) {
      row.takenUntilNanos = world.nanos();
      wakeFirst(row);
    }
    Permit permit = permit(row, p -> isSame(p.owner, claim) && !p.released);
    if (permit != null) {
      free(row, permit);
    }
  }

  /** The time that it is good for; empty: it does not stand. */
  Optional<Duration> extend(Grant grant, Duration ttl) {
    Permit permit = standing(tidied(grant.claim().key()), grant);
    if (permit == null) {
      return Optional.empty();
    }
    permit.untilNanos = Math.max(permit.untilNanos, world.nanos() + ttl.toNanos());
    return Optional.of(told(permit));
  }

  Optional<Duration> verify(Grant grant) {
    return Optional.ofNullable(standing(tidied(grant.claim().key()), grant)).map(this::told);
  }

  boolean force(LockKey key, long number) {
    Row row = tidied(key);
    Permit permit = permit(row, p -> isTaken(p) && p.number == number);
    if (permit == null) {
      return false;
    }
    free(row, permit);
    return true;
  }

  List<StoredPermit> holders(LockKey key) {
    List<StoredPermit> holders = new ArrayList<>();
    Row row = tidied(key);
    for (Permit permit : row.permits) {
      Claim owner = permit.owner;
      if (owner != null) {
        StoredHolder holder = new StoredHolder(
            permit.number, owner.holder(), Instant.EPOCH, told(permit), permit.released);
        holders.add(new StoredPermit(row.permits.indexOf(permit), holder));
      }
    }
    return holders;
  }

  // For the judge

  /** The number of the grant that has it; 0: nobody. */
  long number(LockKey key) {
    Permit permit = permit(tidied(key), this::isTaken);
    return permit == null ? 0 : permit.number;
  }

  /** Whether somebody had it, or stood in line for it, at some time since. */
  boolean wasTakenSince(LockKey key, long sinceNanos) {
    Row row = tidied(key);
    return free(row) == null || !row.line.isEmpty() || row.takenUntilNanos >= sinceNanos;
  }

  /** The names that a grant has that nobody released, and the places in line. */
  List<String> held() {
    List<String> held = new ArrayList<>();
    for (LockKey key : rows.keySet()) {
      Row row = tidied(key);
      if (permit(row, p -> isTaken(p) && !p.released) != null) {
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
      for (Permit permit : row.permits) {
        if (isTaken(permit) && (deadIndexes >> permit.ownerIndex & 1) == 0) {
          left.append(key.name())
              .append(" is taken by grant ")
              .append(permit.number)
              .append("; ");
        }
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

  /** As {@link #tidied(LockKey)}, with as many permits as the claim says. */
  private Row tidied(Claim claim) {
    Row row = tidied(claim.key());
    int permits = claim.mode() instanceof Claim.Permit mode ? mode.of() : 1;
    if (row.permits.size() != permits) {
      row.permits = Stream.generate(Permit::new).limit(permits).toList();
    }
    return row;
  }

  /** Without what ended by itself. */
  private Row tidied(LockKey key) {
    Row row = rows.computeIfAbsent(key, k -> new Row());
    for (Permit permit : row.permits) {
      if (permit.owner != null && !isTaken(permit)) {
        row.takenUntilNanos = Math.max(row.takenUntilNanos, endNanos(permit));
        permit.owner = null;
      }
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

  private void free(Row row, Permit permit) {
    permit.owner = null;
    row.takenUntilNanos = world.nanos();
    Place first = row.line.peek();
    if (first != null && make.handsOver) {
      row.line.remove();
      begin(permit, first.claim, first.index);
      permit.untilNanos =
          world.nanos() + Math.min(make.handedOverNanos, first.claim.ttl().toNanos());
      first.waiting.handedOver(grant(row, permit, first.claim), first.lastQuestion);
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

  private static @Nullable Permit permit(Row row, Predicate<Permit> matching) {
    return row.permits.stream().filter(matching).findFirst().orElse(null);
  }

  private @Nullable Permit free(Row row) {
    return permit(row, permit -> !isTaken(permit));
  }

  private @Nullable Permit standing(Row row, Grant grant) {
    return permit(
        row,
        permit -> isTaken(permit)
            && !permit.released
            && isSame(permit.owner, grant.claim())
            && permit.number == grant.number());
  }

  private boolean isTaken(Permit permit) {
    return permit.owner != null && endNanos(permit) - world.nanos() > 0;
  }

  private long endNanos(Permit permit) {
    return make.sessionNanos == 0 || permit.released
        ? permit.untilNanos
        : Math.min(permit.untilNanos, sessionUntilNanos[permit.ownerIndex]);
  }

  private Duration told(Permit permit) {
    return Duration.ofNanos(endNanos(permit) - world.nanos());
  }

  private static boolean isSame(@Nullable Claim kept, Claim claim) {
    return kept != null && kept.ownerId().equals(claim.ownerId());
  }
}
