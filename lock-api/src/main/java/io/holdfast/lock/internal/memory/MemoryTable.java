package io.holdfast.lock.internal.memory;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The state of an in-memory lock server: the holders of locks, and their lines. One rule serves all
 * modes ({@link Row#admits}). Callers pass the time in; all must use the same clock.
 *
 * <p>Threads: any. Everything is guarded by this object's monitor. While it is held, nothing waits
 * and no other lock is taken; wake-ups run under it, but they only unpark.
 */
public final class MemoryTable {
  private static final int ROWS_SWEPT_MIN = 100;

  private final Map<LockKey, Row> rows = new HashMap<>();

  /**
   * The last grant number, shared by all names: numbers need only rise per name, and so no name has
   * to be remembered.
   */
  private long lastNumber;

  /** The number of rows above which expired rows are swept out. */
  private int rowsMax = ROWS_SWEPT_MIN;

  /** Makes a table without rows. */
  public MemoryTable() {}

  private static final class Row {
    /** The grants that are not over, as far as somebody has looked. */
    private final List<Inside> inside = new ArrayList<>();

    private final Deque<MemoryStore.Waiter> waiting = new ArrayDeque<>();

    /** Forgets what is over. */
    void drop(long nowNanos) {
      inside.removeIf(each -> each.untilNanos - nowNanos <= 0);
    }

    /**
     * Whether a claim may enter beside those inside.
     *
     * @param more the number of those that enter before it
     */
    boolean admits(Claim claim, int more) {
      if (claim.mode() instanceof Claim.Permit permit) {
        return inside.size() + more < permit.of();
      } else if (isShared(claim)) {
        // All inside have one mode.
        return inside.isEmpty() || isShared(inside.get(0).grant.claim());
      }
      return inside.isEmpty() && more == 0;
    }

    /** Whether this place in the line may enter: all those before it may, and it beside them. */
    boolean admits(MemoryStore.Waiter waiter) {
      int before = 0;
      for (MemoryStore.Waiter each : waiting) {
        if (!each.claim.mode().equals(waiter.claim.mode()) || !admits(each.claim, before)) {
          return false;
        } else if (each == waiter) {
          return true;
        }
        before++;
      }
      return false;
    }

    /** Checks that those who have a permit, or wait for one, know of as many as this claim. */
    void requireEqualPermits(Claim claim) throws PermitsDifferException {
      Claim other = anybody();
      if (claim.mode() instanceof Claim.Permit asked
          && other != null
          && other.mode() instanceof Claim.Permit stored
          && asked.of() != stored.of()) {
        throw new PermitsDifferException(claim.key(), asked.of(), stored.of());
      }
    }

    private @Nullable Claim anybody() {
      if (!inside.isEmpty()) {
        return inside.get(0).grant.claim();
      }
      return waiting.isEmpty() ? null : waiting.getFirst().claim;
    }

    int freePermit() {
      int permit = 0;
      while (isTaken(permit)) {
        permit++;
      }
      return permit;
    }

    private boolean isTaken(int permit) {
      for (Inside each : inside) {
        if (each.grant.permit() == permit) {
          return true;
        }
      }
      return false;
    }
  }

  private static boolean isShared(Claim claim) {
    return claim.mode() instanceof Claim.Shared;
  }

  /** A grant, and what is known of it. */
  private static final class Inside {
    private final MemoryGrant grant;
    private final long sinceMillis;
    private long untilNanos;
    private boolean released;

    Inside(MemoryGrant grant, long sinceMillis, long untilNanos) {
      this.grant = grant;
      this.sinceMillis = sinceMillis;
      this.untilNanos = untilNanos;
    }

    StoredHolder holder(long nowNanos) {
      return new StoredHolder(
          grant.number(),
          grant.claim().holder(),
          Instant.ofEpochMilli(sinceMillis),
          Duration.ofNanos(untilNanos - nowNanos),
          released);
    }
  }

  /**
   * Returns a grant, or null if the lock is taken or others are ahead in the queue.
   *
   * @param ticket put into the queue if there is no grant
   * @throws PermitsDifferException it has another number of permits, and is in use
   */
  @Nullable
  synchronized MemoryGrant acquire(
      Claim claim, MemoryStore.@Nullable Waiter ticket, long nowNanos, long wallMillis)
      throws PermitsDifferException {
    sweep(nowNanos);
    Row row = rows.computeIfAbsent(claim.key(), key -> new Row());
    row.drop(nowNanos);
    row.requireEqualPermits(claim);
    if (row.waiting.isEmpty() && row.admits(claim, 0)) {
      return grant(row, claim, nowNanos, wallMillis);
    }
    if (ticket != null) {
      row.waiting.add(ticket);
    }
    return null;
  }

  /** Returns a grant if the ticket, and all before it in the queue, may enter; else null. */
  @Nullable
  synchronized MemoryGrant poll(MemoryStore.Waiter ticket, long nowNanos, long wallMillis) {
    Row row = row(ticket.claim.key(), nowNanos);
    if (!row.admits(ticket)) {
      return null;
    }
    row.waiting.remove(ticket);
    return grant(row, ticket.claim, nowNanos, wallMillis);
  }

  private MemoryGrant grant(Row row, Claim claim, long nowNanos, long wallMillis) {
    int permit = claim.mode() instanceof Claim.Permit ? row.freePermit() : 0;
    MemoryGrant grant = new MemoryGrant(claim, ++lastNumber, permit);
    row.inside.add(new Inside(grant, wallMillis, nowNanos + claim.ttl().toNanos()));
    return grant;
  }

  synchronized void leave(MemoryStore.Waiter ticket, long nowNanos) {
    Row row = row(ticket.claim.key(), nowNanos);
    if (row.waiting.remove(ticket)) {
      tidy(ticket.claim.key(), row);
    }
  }

  synchronized ReleaseOutcome release(MemoryGrant grant, Duration holdFor, long nowNanos) {
    LockKey key = grant.claim().key();
    Row row = row(key, nowNanos);
    Inside standing = standing(row, grant);
    if (standing == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    if (holdFor.isZero()) {
      row.inside.remove(standing);
    } else {
      standing.released = true;
      standing.untilNanos = nowNanos + holdFor.toNanos();
    }
    tidy(key, row);
    return ReleaseOutcome.RELEASED;
  }

  synchronized void withdraw(Claim claim, long nowNanos) {
    Row row = row(claim.key(), nowNanos);
    row.waiting.removeIf(ticket -> ticket.claim.equals(claim));
    row.inside.removeIf(each -> each.grant.claim().equals(claim) && !each.released);
    tidy(claim.key(), row);
  }

  /**
   * Extends a grant to at least {@code ttl} from now. Returns the time left; empty if it no longer
   * has the lock.
   */
  synchronized Optional<Duration> extend(MemoryGrant grant, Duration ttl, long nowNanos) {
    Inside standing = standing(row(grant.claim().key(), nowNanos), grant);
    if (standing != null) {
      standing.untilNanos = Nanos.later(standing.untilNanos, nowNanos + ttl.toNanos());
    }
    return remaining(grant, nowNanos);
  }

  synchronized Optional<Duration> remaining(MemoryGrant grant, long nowNanos) {
    return Optional.ofNullable(standing(row(grant.claim().key(), nowNanos), grant))
        .map(standing -> Duration.ofNanos(standing.untilNanos - nowNanos));
  }

  /** Returns the holders of a lock, in the order of their permits. */
  synchronized List<StoredPermit> holders(LockKey key, long nowNanos) {
    return row(key, nowNanos).inside.stream()
        .map(each -> new StoredPermit(each.grant.permit(), each.holder(nowNanos)))
        .sorted(Comparator.comparingInt(StoredPermit::permit))
        .toList();
  }

  synchronized List<StoredHolder> readers(LockKey key, long nowNanos) {
    return row(key, nowNanos).inside.stream()
        .filter(each -> isShared(each.grant.claim()))
        .map(each -> each.holder(nowNanos))
        .toList();
  }

  synchronized List<StoredLock> list(LockKind kind, String namePrefix, int limit, long nowNanos) {
    List<StoredLock> held = new ArrayList<>();
    for (Map.Entry<LockKey, Row> entry : rows.entrySet()) {
      LockKey key = entry.getKey();
      Row row = entry.getValue();
      row.drop(nowNanos);
      if (held.size() < limit
          && key.kind() == kind
          && key.name().startsWith(namePrefix)
          && !row.inside.isEmpty()) {
        StoredHolder first = row.inside.get(0).holder(nowNanos);
        held.add(new StoredLock(key, first, OptionalInt.of(row.waiting.size())));
      }
    }
    return held;
  }

  synchronized boolean forceRelease(LockKey key, long number, long nowNanos) {
    Row row = row(key, nowNanos);
    boolean released = row.inside.removeIf(each -> each.grant.number() == number);
    tidy(key, row);
    return released;
  }

  /**
   * Returns the time until one who has the lock, or a permit, has it no more unless it is renewed.
   */
  synchronized Duration takenFor(LockKey key, long nowNanos) {
    return row(key, nowNanos).inside.stream()
        .map(each -> Duration.ofNanos(each.untilNanos - nowNanos))
        .min(Comparator.naturalOrder())
        .orElse(Duration.ZERO);
  }

  /** Returns the number of names that have a row. */
  public synchronized int size() {
    return rows.size();
  }

  /**
   * Drops expired rows, often enough to bound their number and seldom enough to cost next to
   * nothing.
   */
  private void sweep(long nowNanos) {
    if (rows.size() > rowsMax) {
      rows.values().removeIf(row -> {
        row.drop(nowNanos);
        return row.inside.isEmpty() && row.waiting.isEmpty();
      });
      rowsMax = Math.max(ROWS_SWEPT_MIN, 2 * rows.size());
    }
  }

  /** Returns the row of this name, without what is over; an empty one if there is none. */
  private Row row(LockKey key, long nowNanos) {
    Row row = rows.getOrDefault(key, new Row());
    row.drop(nowNanos);
    return row;
  }

  /** Returns what this grant has, or null if it no longer stands. */
  private static @Nullable Inside standing(Row row, MemoryGrant grant) {
    for (Inside each : row.inside) {
      if (each.grant.equals(grant) && !each.released) {
        return each;
      }
    }
    return null;
  }

  /**
   * Wakes those in the queue that may enter, and the first one in any case, since the lock may be
   * free sooner than it knew. Drops a row that is not in use.
   */
  private void tidy(LockKey key, Row row) {
    for (MemoryStore.Waiter waiter : row.waiting) {
      if (waiter != row.waiting.peek() && !row.admits(waiter)) {
        break;
      }
      waiter.wakeUp.run();
    }
    if (row.inside.isEmpty() && row.waiting.isEmpty()) {
      rows.remove(key);
    }
  }
}
