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
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The state of an in-memory lock server: the holders of locks, and their lines. Callers pass the
 * time in; all must use the same clock.
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
    /** One for each permit; a mutex has one. */
    private Place[] places = {};

    private final Deque<MemoryStore.Waiter> waiting = new ArrayDeque<>();

    void setPermits(int permits) {
      places = new Place[permits];
      for (int i = 0; i < permits; i++) {
        places[i] = new Place();
      }
    }

    /** Returns the first permit that is free, or -1. */
    int free(long nowNanos) {
      for (int permit = 0; permit < places.length; permit++) {
        if (!places[permit].isTaken(nowNanos)) {
          return permit;
        }
      }
      return -1;
    }

    boolean isInUse(long nowNanos) {
      if (!waiting.isEmpty()) {
        return true;
      }
      for (Place place : places) {
        if (place.isTaken(nowNanos)) {
          return true;
        }
      }
      return false;
    }
  }

  /** What is known of one permit: its last grant. */
  private static final class Place {
    private @Nullable MemoryGrant owner;
    private long untilNanos;
    private long sinceMillis;
    private boolean released;

    boolean isTaken(long nowNanos) {
      return owner != null && untilNanos - nowNanos > 0;
    }

    boolean stands(long nowNanos) {
      return !released && isTaken(nowNanos);
    }

    StoredPermit holder(MemoryGrant grant, long nowNanos) {
      StoredHolder holder = new StoredHolder(
          grant.number(),
          grant.claim().holder(),
          Instant.ofEpochMilli(sinceMillis),
          Duration.ofNanos(untilNanos - nowNanos),
          released);
      return new StoredPermit(grant.permit(), holder);
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
    Row row = row(claim.key());
    int permits = claim.mode() instanceof Claim.Permit permit ? permit.of() : 1;
    if (row.places.length != permits) {
      if (row.isInUse(nowNanos)) {
        throw new PermitsDifferException(claim.key(), permits, row.places.length);
      }
      row.setPermits(permits);
    }
    MemoryGrant grant = row.waiting.isEmpty() ? grant(row, claim, nowNanos, wallMillis) : null;
    if (grant == null && ticket != null) {
      row.waiting.add(ticket);
    }
    return grant;
  }

  /** Returns a grant if the lock is free and the ticket is first in the queue, else null. */
  @Nullable
  synchronized MemoryGrant poll(MemoryStore.Waiter ticket, long nowNanos, long wallMillis) {
    Row row = rows.get(ticket.claim.key());
    if (row == null || row.waiting.peek() != ticket) {
      return null;
    }
    MemoryGrant grant = grant(row, ticket.claim, nowNanos, wallMillis);
    if (grant != null) {
      row.waiting.remove();
      MemoryStore.Waiter next = row.waiting.peek();
      if (next != null && row.free(nowNanos) >= 0) {
        next.wakeUp.run();
      }
    }
    return grant;
  }

  synchronized void leave(MemoryStore.Waiter ticket, long nowNanos) {
    Row row = rows.get(ticket.claim.key());
    if (row != null && row.waiting.remove(ticket)) {
      tidy(ticket.claim.key(), row, nowNanos);
    }
  }

  synchronized ReleaseOutcome release(MemoryGrant grant, Duration holdFor, long nowNanos) {
    Place place = standing(grant, nowNanos);
    if (place == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    if (holdFor.isZero()) {
      place.owner = null; // Free at once, also for a caller that read the clock before this one.
    } else {
      place.released = true;
      place.untilNanos = nowNanos + holdFor.toNanos();
    }
    tidy(grant.claim().key(), row(grant.claim().key()), nowNanos);
    return ReleaseOutcome.RELEASED;
  }

  synchronized void withdraw(Claim claim, long nowNanos) {
    Row row = rows.get(claim.key());
    if (row != null) {
      row.waiting.removeIf(ticket -> ticket.claim.equals(claim));
      for (Place place : row.places) {
        if (place.owner != null && place.owner.claim().equals(claim) && !place.released) {
          place.owner = null;
        }
      }
      tidy(claim.key(), row, nowNanos);
    }
  }

  /**
   * Extends a grant to at least {@code ttl} from now. Returns the time left; empty if it no longer
   * has the lock.
   */
  synchronized Optional<Duration> extend(MemoryGrant grant, Duration ttl, long nowNanos) {
    Place place = standing(grant, nowNanos);
    if (place != null) {
      place.untilNanos = Nanos.later(place.untilNanos, nowNanos + ttl.toNanos());
    }
    return remaining(grant, nowNanos);
  }

  synchronized Optional<Duration> remaining(MemoryGrant grant, long nowNanos) {
    Place place = standing(grant, nowNanos);
    return place == null
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(place.untilNanos - nowNanos));
  }

  /** Returns the holders of a lock, in the order of their permits. */
  synchronized List<StoredPermit> holders(LockKey key, long nowNanos) {
    Row row = rows.get(key);
    return row == null ? List.of() : holders(row, nowNanos);
  }

  private static List<StoredPermit> holders(Row row, long nowNanos) {
    List<StoredPermit> holders = new ArrayList<>();
    for (Place place : row.places) {
      if (place.owner != null && place.isTaken(nowNanos)) {
        holders.add(place.holder(place.owner, nowNanos));
      }
    }
    return holders;
  }

  synchronized List<StoredLock> list(LockKind kind, String namePrefix, int limit, long nowNanos) {
    List<StoredLock> held = new ArrayList<>();
    for (Map.Entry<LockKey, Row> entry : rows.entrySet()) {
      LockKey key = entry.getKey();
      Row row = entry.getValue();
      if (held.size() < limit && key.kind() == kind && key.name().startsWith(namePrefix)) {
        for (StoredPermit permit : holders(row, nowNanos)) {
          held.add(new StoredLock(key, permit.holder(), OptionalInt.of(row.waiting.size())));
        }
      }
    }
    return held;
  }

  synchronized boolean forceRelease(LockKey key, long number, long nowNanos) {
    Row row = rows.get(key);
    if (row == null) {
      return false;
    }
    for (Place place : row.places) {
      if (place.owner != null && place.owner.number() == number && place.isTaken(nowNanos)) {
        place.owner = null;
        tidy(key, row, nowNanos);
        return true;
      }
    }
    return false;
  }

  /** Returns the time until the lock, or one of its permits, is free unless it is renewed. */
  synchronized Duration takenFor(LockKey key, long nowNanos) {
    Row row = rows.get(key);
    if (row == null || row.free(nowNanos) >= 0) {
      return Duration.ZERO;
    }
    long leastNanos = Long.MAX_VALUE;
    for (Place place : row.places) {
      leastNanos = Math.min(leastNanos, place.untilNanos - nowNanos);
    }
    return Duration.ofNanos(leastNanos);
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
      rows.values().removeIf(row -> !row.isInUse(nowNanos));
      rowsMax = Math.max(ROWS_SWEPT_MIN, 2 * rows.size());
    }
  }

  private Row row(LockKey key) {
    return rows.computeIfAbsent(key, k -> new Row());
  }

  /** Returns a grant of the first permit that is free, or null if all are taken. */
  private @Nullable MemoryGrant grant(Row row, Claim claim, long nowNanos, long wallMillis) {
    int permit = row.free(nowNanos);
    if (permit < 0) {
      return null;
    }
    MemoryGrant grant = new MemoryGrant(claim, ++lastNumber, permit);
    Place place = row.places[permit];
    place.owner = grant;
    place.released = false;
    place.sinceMillis = wallMillis;
    place.untilNanos = nowNanos + claim.ttl().toNanos();
    return grant;
  }

  /** Returns what this grant has, or null if it no longer stands. */
  private @Nullable Place standing(MemoryGrant grant, long nowNanos) {
    Row row = rows.get(grant.claim().key());
    if (row == null || grant.permit() >= row.places.length) {
      return null;
    }
    Place place = row.places[grant.permit()];
    return grant.equals(place.owner) && place.stands(nowNanos) ? place : null;
  }

  /**
   * Wakes the first waiter (also if the lock will be free sooner than it knew), and drops a row
   * that is not in use.
   */
  private void tidy(LockKey key, Row row, long nowNanos) {
    MemoryStore.Waiter first = row.waiting.peek();
    if (first != null) {
      first.wakeUp.run();
    } else if (!row.isInUse(nowNanos)) {
      rows.remove(key);
    }
  }
}
