package io.holdfast.lock.internal.memory;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
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
    private @Nullable MemoryGrant owner;
    private long untilNanos;
    private long sinceMillis;
    private boolean released;
    private final Deque<MemoryTicket> waiting = new ArrayDeque<>();
  }

  /** Returns a grant, or null if the lock is taken or others are ahead in the queue. */
  @Nullable
  synchronized MemoryGrant acquire(Claim claim, long nowNanos, long wallMillis) {
    sweep(nowNanos);
    Row row = row(claim.key());
    return isTaken(row, nowNanos) || !row.waiting.isEmpty()
        ? null
        : grant(row, claim, nowNanos, wallMillis);
  }

  /** Returns a grant, or null if the ticket was put into the queue. */
  @Nullable
  synchronized MemoryGrant acquireOrQueue(
      Claim claim, MemoryTicket ticket, long nowNanos, long wallMillis) {
    MemoryGrant grant = acquire(claim, nowNanos, wallMillis);
    if (grant == null) {
      row(claim.key()).waiting.add(ticket);
    }
    return grant;
  }

  /** Returns a grant if the lock is free and the ticket is first in the queue, else null. */
  @Nullable
  synchronized MemoryGrant poll(MemoryTicket ticket, long nowNanos, long wallMillis) {
    Row row = rows.get(ticket.claim().key());
    if (row == null || isTaken(row, nowNanos) || row.waiting.peek() != ticket) {
      return null;
    }
    row.waiting.remove();
    return grant(row, ticket.claim(), nowNanos, wallMillis);
  }

  synchronized void leave(MemoryTicket ticket, long nowNanos) {
    Row row = rows.get(ticket.claim().key());
    if (row != null && row.waiting.remove(ticket)) {
      tidy(ticket.claim().key(), row, nowNanos);
    }
  }

  synchronized ReleaseOutcome release(MemoryGrant grant, Duration holdFor, long nowNanos) {
    Row row = rows.get(grant.claim().key());
    if (row == null || !stands(row, grant, nowNanos)) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    row.released = true;
    row.untilNanos = nowNanos + holdFor.toNanos();
    tidy(grant.claim().key(), row, nowNanos);
    return ReleaseOutcome.RELEASED;
  }

  synchronized void withdraw(Claim claim, long nowNanos) {
    Row row = rows.get(claim.key());
    if (row != null) {
      row.waiting.removeIf(ticket -> ticket.claim().equals(claim));
      if (row.owner != null && row.owner.claim().equals(claim) && !row.released) {
        row.owner = null;
      }
      tidy(claim.key(), row, nowNanos);
    }
  }

  /** Extends a grant to at least {@code ttl} from now; false if it no longer has the lock. */
  synchronized boolean extend(MemoryGrant grant, Duration ttl, long nowNanos) {
    Row row = rows.get(grant.claim().key());
    if (row == null || !stands(row, grant, nowNanos)) {
      return false;
    }
    long untilNanos = nowNanos + ttl.toNanos();
    if (untilNanos - row.untilNanos > 0) {
      row.untilNanos = untilNanos;
    }
    return true;
  }

  synchronized Optional<Duration> remaining(MemoryGrant grant, long nowNanos) {
    Row row = rows.get(grant.claim().key());
    return row != null && stands(row, grant, nowNanos)
        ? Optional.of(Duration.ofNanos(row.untilNanos - nowNanos))
        : Optional.empty();
  }

  synchronized Optional<StoredHolder> inspect(LockKey key, long nowNanos) {
    Row row = rows.get(key);
    if (row == null || row.owner == null || !isTaken(row, nowNanos)) {
      return Optional.empty();
    }
    return Optional.of(holder(row, row.owner, nowNanos));
  }

  synchronized List<StoredLock> list(LockKind kind, String namePrefix, int limit, long nowNanos) {
    List<StoredLock> held = new ArrayList<>();
    for (Map.Entry<LockKey, Row> entry : rows.entrySet()) {
      LockKey key = entry.getKey();
      Row row = entry.getValue();
      if (held.size() < limit
          && row.owner != null
          && isTaken(row, nowNanos)
          && key.kind() == kind
          && key.name().startsWith(namePrefix)) {
        held.add(new StoredLock(
            key, holder(row, row.owner, nowNanos), OptionalInt.of(row.waiting.size())));
      }
    }
    return held;
  }

  private static StoredHolder holder(Row row, MemoryGrant owner, long nowNanos) {
    return new StoredHolder(
        owner.number(),
        owner.claim().holder(),
        Instant.ofEpochMilli(row.sinceMillis),
        Duration.ofNanos(row.untilNanos - nowNanos),
        row.released);
  }

  synchronized boolean forceRelease(LockKey key, long number, long nowNanos) {
    Row row = rows.get(key);
    if (row == null
        || row.owner == null
        || row.owner.number() != number
        || !isTaken(row, nowNanos)) {
      return false;
    }
    row.owner = null;
    tidy(key, row, nowNanos);
    return true;
  }

  /** Returns the time until the lock is free unless it is renewed. */
  synchronized Duration takenFor(LockKey key, long nowNanos) {
    Row row = rows.get(key);
    return row != null && isTaken(row, nowNanos)
        ? Duration.ofNanos(row.untilNanos - nowNanos)
        : Duration.ZERO;
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
      rows.values().removeIf(row -> row.waiting.isEmpty() && !isTaken(row, nowNanos));
      rowsMax = Math.max(ROWS_SWEPT_MIN, 2 * rows.size());
    }
  }

  private Row row(LockKey key) {
    return rows.computeIfAbsent(key, k -> new Row());
  }

  private MemoryGrant grant(Row row, Claim claim, long nowNanos, long wallMillis) {
    MemoryGrant grant = new MemoryGrant(claim, ++lastNumber);
    row.owner = grant;
    row.released = false;
    row.sinceMillis = wallMillis;
    row.untilNanos = nowNanos + claim.ttl().toNanos();
    return grant;
  }

  private static boolean isTaken(Row row, long nowNanos) {
    return row.owner != null && row.untilNanos - nowNanos > 0;
  }

  private static boolean stands(Row row, MemoryGrant grant, long nowNanos) {
    return grant.equals(row.owner) && !row.released && isTaken(row, nowNanos);
  }

  /**
   * Wakes the first waiter (also if the lock will be free sooner than it knew), and drops a row
   * that is not in use.
   */
  private void tidy(LockKey key, Row row, long nowNanos) {
    MemoryTicket first = row.waiting.peek();
    if (first != null) {
      first.wake();
    } else if (!isTaken(row, nowNanos)) {
      rows.remove(key);
    }
  }
}
