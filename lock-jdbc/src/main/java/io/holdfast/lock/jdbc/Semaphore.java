package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.StoredHolder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore, as its rows were read.
 *
 * @param line its own row; null if there is none
 * @param waiters its line, once for each waiter that was asked about, or once if none was
 * @param permits the rows of its permits that are there and were asked for, by their numbers
 */
record Semaphore(@Nullable Row line, List<Standing> waiters, SortedMap<Integer, Row> permits) {

  /** Makes it of all its rows. */
  static Semaphore of(String key, List<Standing> standings) {
    Row line = null;
    List<Standing> waiters = new ArrayList<>();
    SortedMap<Integer, Row> permits = new TreeMap<>();
    for (Standing standing : standings) {
      Row row = standing.row();
      if (row.key().equals(key)) {
        line = row;
        waiters.add(standing);
      } else {
        permits.put(JdbcGrant.permit(row.number()), row);
      }
    }
    return new Semaphore(line, waiters, permits);
  }

  /** Whether it has this number of permits at the database. */
  boolean has(int number) {
    return line != null && line.number() == number;
  }

  /** Returns the number of waiters before the one that was asked about. */
  int ahead() {
    return waiters.isEmpty() ? 0 : waiters.get(0).ahead();
  }

  /**
   * Returns the number of permits that holds for others; the given one if no permit is held and
   * nobody waits.
   */
  int numberInUse(int otherwise) {
    for (Row row : permits.values()) {
      if (!row.isFree()) {
        return Math.toIntExact(row.served());
      }
    }
    Row row = line;
    return row != null && row.number() > 0 && ahead() > 0
        ? Math.toIntExact(row.number())
        : otherwise;
  }

  /** Whether this permit can be taken once it is free: its row has the number of permits. */
  boolean isReady(int permit, int number) {
    Row row = permits.get(permit);
    return row != null && row.served() == number;
  }

  /**
   * Returns a free permit below the number: any of those that are ready, or else the first of the
   * others; -1 if there is none.
   */
  int anyFree(int number) {
    List<Integer> ready = new ArrayList<>();
    int other = -1;
    for (int permit = 0; permit < number; permit++) {
      if (!isFree(permit)) {
        continue;
      }
      if (isReady(permit, number)) {
        ready.add(permit);
      } else if (other < 0) {
        other = permit;
      }
    }
    // Those who look at the same time should not all try the same one.
    return ready.isEmpty() ? other : ready.get(ThreadLocalRandom.current().nextInt(ready.size()));
  }

  private boolean isFree(int permit) {
    Row row = permits.get(permit);
    return row == null || row.isFree();
  }

  /** Returns how many permits below the number are free. */
  int countFree(int number) {
    int free = 0;
    for (int permit = 0; permit < number; permit++) {
      free += isFree(permit) ? 1 : 0;
    }
    return free;
  }

  /** Returns the holders of its permits, in their order. */
  List<StoredHolder> holders() {
    List<StoredHolder> holders = new ArrayList<>();
    permits.forEach((permit, row) -> {
      if (!row.isFree()) {
        holders.add(Mutexes.holder(row, permit));
      }
    });
    return holders;
  }

  /**
   * Returns a row that shows it as a mutex: free if a permit is, changed when a permit last was.
   *
   * @param key its stored name
   */
  Row summary(String key, int number) {
    Collection<Row> rows = permits.headMap(number).values();
    long now = 0;
    long since = Long.MAX_VALUE;
    long remaining = rows.size() < number ? 0 : Long.MAX_VALUE;
    long wanted = rows.isEmpty() ? 0 : Long.MAX_VALUE;
    String holder = "";
    for (Row row : rows) {
      now = row.changedAtMicros() + row.sinceMicros();
      since = Math.min(since, row.sinceMicros());
      remaining = Math.min(remaining, row.remainingMicros());
      wanted = Math.min(wanted, row.wantedMicros());
      if (holder.isEmpty() && !row.isFree()) {
        holder = row.holder();
      }
    }
    since = rows.isEmpty() ? 0 : since;
    return new Row(key, "", number, since, now - since, remaining, wanted, holder, 0, 0);
  }

  /**
   * Returns the standing of each waiter that was asked about, with the row of the permit that it
   * has by now. As many as there are free permits have none ahead. If none is free, the first as
   * many as there are permits have none ahead: each may be handed the next that is.
   */
  List<Standing> standings(String key, int number) {
    Row summary = summary(key, number);
    int free = countFree(number);
    int atOnce = free > 0 ? free : number;
    return waiters.stream()
        .map(waiter -> {
          int ahead = Math.max(0, waiter.ahead() - (atOnce - 1));
          Row row = heldBy(waiter.waiter()).orElse(summary);
          return new Standing(row, waiter.waiter(), ahead, waiter.inLine());
        })
        .toList();
  }

  /** Returns the permit that the owner of this id has. */
  OptionalInt permitOf(String ownerId) {
    return heldBy(ownerId).stream()
        .mapToInt(row -> JdbcGrant.permit(row.number()))
        .findFirst();
  }

  private Optional<Row> heldBy(String ownerId) {
    return permits.values().stream().filter(row -> row.isOwnedBy(ownerId)).findFirst();
  }
}
