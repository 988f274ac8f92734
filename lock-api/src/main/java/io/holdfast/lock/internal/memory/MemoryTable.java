package io.holdfast.lock.internal.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
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
 * The state of an in-memory lock server: the holders of locks, and their wait queues. Callers pass
 * the time in; all must use the same clock.
 *
 * <p>Threads: any. The monitor guards everything. While it is held, nothing waits and no other lock
 * is taken; wake-ups run under it, but they only unpark.
 */
public final class MemoryTable {
  private static final int ROWS_SWEPT_MIN = 100;

  /** The rows by key; a name's readers are in the row of its mutex. */
  @GuardedBy("this")
  private final Map<LockKey, Row> rows = new HashMap<>();

  /**
   * The last grant number, shared by all names: numbers need only rise per name, and so no name has
   * to be remembered.
   */
  @GuardedBy("this")
  private long lastNumber;

  /** The number of rows above which expired rows are swept out. */
  @GuardedBy("this")
  private int rowsMax = ROWS_SWEPT_MIN;

  /** Makes a table without rows. */
  public MemoryTable() {}

  private static final class Row {
    /** One for each permit; a mutex has one. */
    private Place[] places = {};

    /** One for each reader, in the order of their numbers. */
    private final List<Place> readers = new ArrayList<>();

    private final Deque<MemoryTicket> waiting = new ArrayDeque<>();

    void setPermits(int permits) {
      places = new Place[permits];
      for (int i = 0; i < permits; i++) {
        places[i] = new Place();
      }
    }

    /** Returns all places: those of permits, and those of readers. */
    List<Place> all() {
      List<Place> all = new ArrayList<>(List.of(places));
      all.addAll(readers);
      return all;
    }

    boolean isRead(long nowNanos) {
      return readers.stream().anyMatch(reader -> reader.isTaken(nowNanos));
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
      return !waiting.isEmpty() || all().stream().anyMatch(place -> place.isTaken(nowNanos));
    }

    /** Whether only readers stand in line before this one. */
    boolean isBehindReadersOnly(MemoryTicket ticket) {
      for (MemoryTicket each : waiting) {
        if (each == ticket) {
          return true;
        } else if (!each.reads()) {
          return false;
        }
      }
      return false;
    }

    /** Wakes the first in line; if it is a reader, all that follow it up to the next writer. */
    void wakeFirst() {
      for (MemoryTicket ticket : waiting) {
        if (ticket != waiting.peek() && !ticket.reads()) {
          return;
        }
        ticket.wake();
        if (!ticket.reads()) {
          return;
        }
      }
    }
  }

  /** One permit, or a reader: its last grant. */
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

    StoredHolder holder(MemoryGrant grant, long nowNanos) {
      return new StoredHolder(
          grant.number(),
          grant.claim().holder(),
          Instant.ofEpochMilli(sinceMillis),
          Duration.ofNanos(untilNanos - nowNanos),
          released,
          grant.permit());
    }
  }

  /**
   * Returns a grant, or null if the lock is taken or others are ahead in the queue.
   *
   * @throws StoreException it has another number of permits, and is in use
   */
  @Nullable
  synchronized MemoryGrant acquire(Claim claim, long nowNanos, long wallMillis)
      throws StoreException {
    sweep(nowNanos);
    Row row = row(claim.key());
    if (row.places.length != claim.permits()) {
      if (row.isInUse(nowNanos)) {
        throw StoreException.permitsDiffer(claim, row.places.length);
      }
      row.setPermits(claim.permits());
    }
    return row.waiting.isEmpty() ? grant(row, claim, nowNanos, wallMillis) : null;
  }

  /** Returns a grant, or null if the ticket was put into the queue. */
  @Nullable
  synchronized MemoryGrant acquireOrQueue(
      Claim claim, MemoryTicket ticket, long nowNanos, long wallMillis) throws StoreException {
    MemoryGrant grant = acquire(claim, nowNanos, wallMillis);
    if (grant == null) {
      row(claim.key()).waiting.add(ticket);
    }
    return grant;
  }

  /**
   * Returns a grant if the lock is free and the ticket is first in the queue, else null. Readers
   * that follow each other are all first.
   */
  @Nullable
  synchronized MemoryGrant poll(MemoryTicket ticket, long nowNanos, long wallMillis) {
    Row row = find(ticket.claim().key());
    if (row == null
        || (row.waiting.peek() != ticket && !(ticket.reads() && row.isBehindReadersOnly(ticket)))) {
      return null;
    }
    MemoryGrant grant = grant(row, ticket.claim(), nowNanos, wallMillis);
    if (grant != null) {
      row.waiting.remove(ticket);
      if (row.free(nowNanos) >= 0) {
        row.wakeFirst();
      }
    }
    return grant;
  }

  synchronized void leave(MemoryTicket ticket, long nowNanos) {
    Row row = find(ticket.claim().key());
    if (row != null && row.waiting.remove(ticket)) {
      tidy(ticket.claim().key(), row, nowNanos);
    }
  }

  synchronized ReleaseOutcome release(MemoryGrant grant, Duration holdFor, long nowNanos) {
    Place place = standing(grant, nowNanos);
    if (place == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    place.released = true;
    place.untilNanos = nowNanos + holdFor.toNanos();
    if (holdFor.isZero()) {
      // Free for whoever read the clock before this did, too: it would not wake the next one.
      place.owner = null;
    }
    tidy(grant.claim().key(), row(grant.claim().key()), nowNanos);
    return ReleaseOutcome.RELEASED;
  }

  synchronized void withdraw(Claim claim, long nowNanos) {
    Row row = find(claim.key());
    if (row != null) {
      row.waiting.removeIf(ticket -> ticket.claim().equals(claim));
      for (Place place : row.all()) {
        if (place.owner != null && place.owner.claim().equals(claim) && !place.released) {
          place.owner = null;
        }
      }
      tidy(claim.key(), row, nowNanos);
    }
  }

  /** Extends a grant to at least {@code ttl} from now; false if it no longer has the lock. */
  synchronized boolean extend(MemoryGrant grant, Duration ttl, long nowNanos) {
    Place place = standing(grant, nowNanos);
    if (place == null) {
      return false;
    }
    long untilNanos = nowNanos + ttl.toNanos();
    if (untilNanos - place.untilNanos > 0) {
      place.untilNanos = untilNanos;
    }
    return true;
  }

  synchronized Optional<Duration> remaining(MemoryGrant grant, long nowNanos) {
    Place place = standing(grant, nowNanos);
    return place == null
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(place.untilNanos - nowNanos));
  }

  /** Returns the holders of a lock, in the order of their permits, or of readers' numbers. */
  synchronized List<StoredHolder> holders(LockKey key, long nowNanos) {
    Row row = find(key);
    return row == null ? List.of() : holders(row, nowNanos);
  }

  private static List<StoredHolder> holders(Row row, long nowNanos) {
    List<StoredHolder> holders = new ArrayList<>();
    for (Place place : row.all()) {
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
        holders(row, nowNanos).stream()
            .findFirst()
            .ifPresent(holder ->
                held.add(new StoredLock(key, holder, OptionalInt.of(row.waiting.size()))));
      }
    }
    return held;
  }

  synchronized boolean forceRelease(LockKey key, long number, long nowNanos) {
    Row row = find(key);
    if (row == null) {
      return false;
    }
    for (Place place : row.all()) {
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
    Row row = find(key);
    if (row == null) {
      return Duration.ZERO;
    } else if (row.isRead(nowNanos)) {
      long mostNanos = 0;
      for (Place reader : row.readers) {
        mostNanos = Math.max(mostNanos, reader.untilNanos - nowNanos);
      }
      return Duration.ofNanos(mostNanos);
    } else if (row.free(nowNanos) >= 0) {
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
  @GuardedBy("this")
  private void sweep(long nowNanos) {
    if (rows.size() > rowsMax) {
      rows.values().removeIf(row -> !row.isInUse(nowNanos));
      rowsMax = Math.max(ROWS_SWEPT_MIN, 2 * rows.size());
    }
  }

  @GuardedBy("this")
  private @Nullable Row find(LockKey key) {
    return rows.get(rowKey(key));
  }

  @GuardedBy("this")
  private Row row(LockKey key) {
    return rows.computeIfAbsent(rowKey(key), k -> new Row());
  }

  private static LockKey rowKey(LockKey key) {
    return key.kind() == LockKind.READ ? new LockKey(LockKind.MUTEX, key.name()) : key;
  }

  /** Returns a grant of the first permit that is free, or null if all are taken. */
  @GuardedBy("this")
  private @Nullable MemoryGrant grant(Row row, Claim claim, long nowNanos, long wallMillis) {
    boolean reads = claim.key().kind() == LockKind.READ;
    row.readers.removeIf(reader -> !reader.isTaken(nowNanos));
    int permit = row.free(nowNanos);
    if (permit < 0 || (!reads && !row.readers.isEmpty())) {
      return null;
    }
    MemoryGrant grant = new MemoryGrant(claim, ++lastNumber, permit);
    Place place = reads ? new Place() : row.places[permit];
    if (reads) {
      row.readers.add(place);
    }
    place.owner = grant;
    place.released = false;
    place.sinceMillis = wallMillis;
    place.untilNanos = nowNanos + claim.ttl().toNanos();
    return grant;
  }

  /** Returns what this grant has, or null if it no longer stands. */
  @GuardedBy("this")
  private @Nullable Place standing(MemoryGrant grant, long nowNanos) {
    Row row = find(grant.claim().key());
    if (row == null) {
      return null;
    }
    for (Place place : row.all()) {
      if (grant.equals(place.owner) && place.stands(nowNanos)) {
        return place;
      }
    }
    return null;
  }

  /**
   * Wakes the first waiters (also if the lock will be free sooner than they knew), and drops a row
   * that is not in use.
   */
  @GuardedBy("this")
  private void tidy(LockKey key, Row row, long nowNanos) {
    if (!row.waiting.isEmpty()) {
      row.wakeFirst();
    } else if (!row.isInUse(nowNanos)) {
      rows.remove(rowKey(key));
    }
  }
}
