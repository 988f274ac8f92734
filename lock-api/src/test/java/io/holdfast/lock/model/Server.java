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
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The server of a store that does all right: what it is asked, when it is asked. It comes in
 * several makes: with a line or without, one that hands over by itself, with sessions that end.
 */
final class Server {
  private final World world;
  private final Make make;
  private final Map<LockKey, Row> rows = new HashMap<>();
  private final Set<Long> released = new HashSet<>();

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
    private final List<Inside> inside = new ArrayList<>();
    private final Deque<Place> line = new ArrayDeque<>();

    /** The last time at which it stopped being taken or waited for. */
    private long takenUntilNanos = -1;

    /** The same for a reader, to whom other readers are no obstacle. */
    private long closedUntilNanos = -1;

    /** Somebody left, or was found to have left, at this time. */
    void left(Claim claim, boolean wasInside, long atNanos) {
      takenUntilNanos = Math.max(takenUntilNanos, atNanos);
      if (!wasInside || !isShared(claim)) {
        closedUntilNanos = Math.max(closedUntilNanos, atNanos);
      }
    }
  }

  /** A grant that is not over. */
  private static final class Inside {
    private final Claim owner;
    private final int ownerIndex;
    private final long number;
    private final int permit;
    private long untilNanos;
    private boolean released;

    Inside(Claim owner, int ownerIndex, long number, int permit) {
      this.owner = owner;
      this.ownerIndex = ownerIndex;
      this.number = number;
      this.permit = permit;
    }
  }

  private static boolean isShared(Claim claim) {
    return claim.mode() instanceof Claim.Shared;
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
    if (!inLine && row.inside.stream().noneMatch(in -> isSame(in.owner, claim))) {
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
    for (Inside in : row.inside) {
      nextNanos = Math.min(nextNanos, endNanos(in) - world.nanos() + 1_000_000);
    }
    return new Answer(null, false, Duration.ofNanos(nextNanos));
  }

  private @Nullable ModelGrant take(Row row, Claim claim, int index) {
    Inside in = inside(row, i -> isSame(i.owner, claim) && !i.released);
    if (in == null) {
      if (!admits(row, claim)) {
        return null;
      }
      in = begin(row, claim, index);
    }
    row.line.removeIf(place -> isSame(place.claim, claim));
    in.untilNanos = world.nanos() + claim.ttl().toNanos();
    serve(row);
    return grant(in, claim);
  }

  /** Whether a claim may enter: those before it in line may, and it beside them. */
  private static boolean admits(Row row, Claim claim) {
    int before = 0;
    for (Place place : row.line) {
      if (isSame(place.claim, claim)) {
        break;
      } else if (!place.claim.mode().equals(claim.mode()) || !admits(row, place.claim, before)) {
        return false;
      }
      before++;
    }
    return admits(row, claim, before);
  }

  /** Whether it may enter beside those inside, and so many more. */
  private static boolean admits(Row row, Claim claim, int more) {
    if (claim.mode() instanceof Claim.Permit permit) {
      return row.inside.size() + more < permit.of();
    } else if (isShared(claim)) {
      return row.inside.stream().allMatch(in -> isShared(in.owner));
    }
    return row.inside.isEmpty() && more == 0;
  }

  private Inside begin(Row row, Claim claim, int index) {
    int permit = 0;
    if (claim.mode() instanceof Claim.Permit) {
      List<Integer> taken = row.inside.stream().map(in -> in.permit).toList();
      while (taken.contains(permit)) {
        permit++;
      }
    }
    Inside in = new Inside(claim, index, ++lastNumber, permit);
    row.inside.add(in);
    world.say(() ->
        "-> grant " + in.number + " of " + claim.key().name() + " to " + (char) ('A' + index));
    return in;
  }

  private ModelGrant grant(Inside in, Claim claim) {
    return new ModelGrant(claim, in.number, in.permit, told(in));
  }

  ReleaseOutcome release(Grant grant, Duration holdFor) {
    Row row = tidied(grant.claim().key());
    Inside in = standing(row, grant);
    if (in == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    in.released = true;
    boolean unused = released.add(in.number);
    in.untilNanos = world.nanos() + holdFor.toNanos();
    if (holdFor.isZero()) {
      free(row, in);
    }
    return ReleaseOutcome.RELEASED;
  }

  void withdraw(Claim claim) {
    Row row = tidied(claim.key());
    if (row.line.removeIf(place -> isSame(place.claim, claim))) {
      row.left(claim, false, world.nanos());
      serve(row);
    }
    Inside in = inside(row, i -> isSame(i.owner, claim) && !i.released);
    if (in != null) {
      free(row, in);
    }
  }

  /** The time that it is good for; empty: it does not stand. */
  Optional<Duration> extend(Grant grant, Duration ttl) {
    Inside in = standing(tidied(grant.claim().key()), grant);
    if (in == null) {
      return Optional.empty();
    }
    in.untilNanos = Math.max(in.untilNanos, world.nanos() + ttl.toNanos());
    return Optional.of(told(in));
  }

  Optional<Duration> verify(Grant grant) {
    return Optional.ofNullable(standing(tidied(grant.claim().key()), grant)).map(this::told);
  }

  boolean force(LockKey key, long number) {
    Row row = tidied(key);
    Inside in = inside(row, i -> i.number == number);
    if (in == null) {
      return false;
    }
    free(row, in);
    return true;
  }

  List<StoredPermit> holders(LockKey key) {
    return tidied(key).inside.stream()
        .map(in -> new StoredPermit(in.permit, holder(in)))
        .sorted(Comparator.comparingInt(StoredPermit::permit))
        .toList();
  }

  List<StoredHolder> readers(LockKey key) {
    return tidied(key).inside.stream()
        .filter(in -> isShared(in.owner))
        .map(this::holder)
        .toList();
  }

  private StoredHolder holder(Inside in) {
    return new StoredHolder(in.number, in.owner.holder(), Instant.EPOCH, told(in), in.released);
  }

  // For the judge

  /** Whether a release of the grant arrived while it stood. */
  boolean wasReleased(long number) {
    return released.contains(number);
  }

  /** The number of a grant that has it; 0: nobody. */
  long number(LockKey key) {
    List<Inside> inside = tidied(key).inside;
    return inside.isEmpty() ? 0 : inside.get(0).number;
  }

  /** Whether somebody was in the way of a claim, inside or in line, at some time since. */
  boolean wasTakenSince(LockKey key, boolean toReaders, long sinceNanos) {
    Row row = tidied(key);
    boolean isTaken = row.inside.stream().anyMatch(in -> !toReaders || !isShared(in.owner));
    return isTaken
        || !row.line.isEmpty()
        || (toReaders ? row.closedUntilNanos : row.takenUntilNanos) >= sinceNanos;
  }

  /** The names that a grant has that nobody released, and the places in line. */
  List<String> held() {
    List<String> held = new ArrayList<>();
    for (LockKey key : rows.keySet()) {
      Row row = tidied(key);
      if (inside(row, in -> !in.released) != null) {
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
      for (Inside in : row.inside) {
        if ((deadIndexes >> in.ownerIndex & 1) == 0) {
          left.append(key.name())
              .append(" is taken by grant ")
              .append(in.number)
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

  /** Without what ended by itself. */
  private Row tidied(LockKey key) {
    Row row = rows.computeIfAbsent(key, k -> new Row());
    row.inside.removeIf(in -> {
      boolean over = endNanos(in) - world.nanos() <= 0;
      if (over) {
        row.left(in.owner, true, endNanos(in));
      }
      return over;
    });
    row.line.removeIf(place -> {
      boolean over = place.untilNanos < world.nanos() && place.lastQuestion > 0;
      if (over) {
        row.left(place.claim, false, place.untilNanos);
      }
      return over;
    });
    return row;
  }

  private void free(Row row, Inside in) {
    row.inside.remove(in);
    row.left(in.owner, true, world.nanos());
    Place first = row.line.peek();
    while (first != null && make.handsOver && admits(row, first.claim, 0)) {
      row.line.remove();
      Inside next = begin(row, first.claim, first.index);
      next.untilNanos =
          world.nanos() + Math.min(make.handedOverNanos, first.claim.ttl().toNanos());
      first.waiting.handedOver(grant(next, first.claim), first.lastQuestion);
      first = row.line.peek();
    }
    serve(row);
  }

  /** Wakes those in line who may enter, and the first in any case. */
  private static void serve(Row row) {
    for (Place place : row.line) {
      if (place != row.line.peek() && !admits(row, place.claim)) {
        return;
      }
      place.waiting.wake();
    }
  }

  private static @Nullable Inside inside(Row row, Predicate<Inside> matching) {
    return row.inside.stream().filter(matching).findFirst().orElse(null);
  }

  private static @Nullable Inside standing(Row row, Grant grant) {
    return inside(
        row, in -> !in.released && isSame(in.owner, grant.claim()) && in.number == grant.number());
  }

  private long endNanos(Inside in) {
    return make.sessionNanos == 0 || in.released
        ? in.untilNanos
        : Math.min(in.untilNanos, sessionUntilNanos[in.ownerIndex]);
  }

  private Duration told(Inside in) {
    return Duration.ofNanos(endNanos(in) - world.nanos());
  }

  private static boolean isSame(Claim kept, Claim claim) {
    return kept.ownerId().equals(claim.ownerId());
  }
}
