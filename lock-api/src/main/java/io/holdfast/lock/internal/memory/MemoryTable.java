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
 * The server's side: the holders of locks, and those that wait for them. Times are given by the
 * caller and are those of one clock.
 *
 * <p>Threads: any; everything is guarded by the monitor of this, under which nothing waits and
 * nothing is locked; wake-ups run under it (they only unpark).
 */
public final class MemoryTable {
  private static final int ROWS_SWEPT_MIN = 100;

  private final Map<LockKey, Row> rows = new HashMap<>();

  /**
   * One number for all names: rising per name is all that is asked for, and no name is remembered.
   */
  private long lastNumber;

  /** The number of rows above which those are swept out that nobody tidied. */
  private int rowsMax = ROWS_SWEPT_MIN;

  /** A table without rows. */
  public MemoryTable() {}

  private static final class Row {
    private @Nullable MemoryGrant owner;
    private long untilNanos;
    private long sinceMillis;
    private boolean released;
    private final Deque<MemoryTicket> waiting = new ArrayDeque<>();
  }

  /** The grant, or null if the lock is taken or others come first. */
  @Nullable
  synchronized MemoryGrant acquire(Claim claim, long nowNanos, long wallMillis) {
    sweep(nowNanos);
    Row row = row(claim.key());
    return isTaken(row, nowNanos) || !row.waiting.isEmpty()
        ? null
        : grant(row, claim, nowNanos, wallMillis);
  }

  /** The grant, or null: the ticket stands in line. */
  @Nullable
  synchronized MemoryGrant acquireOrQueue(
      Claim claim, MemoryTicket ticket, long nowNanos, long wallMillis) {
    MemoryGrant grant = acquire(claim, nowNanos, wallMillis);
    if (grant == null) {
      row(claim.key()).waiting.add(ticket);
    }
    return grant;
  }

  /** The grant for the first in line, if the lock is free. */
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

  /** Whether it stood, and stands for at least {@code ttl} from now. */
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

  /** The time until the lock is free if nothing renews it. */
  synchronized Duration takenFor(LockKey key, long nowNanos) {
    Row row = rows.get(key);
    return row != null && isTaken(row, nowNanos)
        ? Duration.ofNanos(row.untilNanos - nowNanos)
        : Duration.ZERO;
  }

  /** The number of names that it holds something for. */
  public synchronized int size() {
    return rows.size();
  }

  /** Drops what ended by itself: often enough to bound the rows, seldom enough to cost nothing. */
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

  /** Wakes the first in line (also when the time left has shortened); drops what is not in use. */
  private void tidy(LockKey key, Row row, long nowNanos) {
    MemoryTicket first = row.waiting.peek();
    if (first != null) {
      first.wake();
    } else if (!isTaken(row, nowNanos)) {
      rows.remove(key);
    }
  }
}
