package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Renews grants, up to {@value Dialect#BATCH_MAX} with two statements: one extends those that are
 * still held, the other reads which they are. Uses the client's own connection, which is replaced
 * first, so that it leads to the same server as the pool's connections. Extends a fixed lease with
 * one statement.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Renewer {
  /**
   * The number of tries for a row that is locked; a client that tries to take a lock locks its row
   * for a moment.
   */
  private static final int LOCKED_TRIES = 5;

  /** If the time left in a row is below the TTL by more than this, the row was not extended. */
  private static final long SLACK_MICROS = 2_000;

  private final Database database;

  Renewer(Database database) {
    this.database = database;
  }

  /** Renews grants; returns one result for each, in order. */
  List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = database.deadline();
    Renewal[] results = new Renewal[grants.size()];
    Map<Duration, List<Integer>> byTtl = new LinkedHashMap<>();
    for (int i = 0; i < grants.size(); i++) {
      byTtl
          .computeIfAbsent(grants.get(i).claim().ttl(), ttl -> new ArrayList<>())
          .add(i);
    }
    database.changeOwnConnection(deadline);
    StoreException failure = null;
    boolean answered = false;
    for (List<Integer> group : byTtl.values()) {
      for (int from = 0; from < group.size(); from += Dialect.BATCH_MAX) {
        List<Integer> batch = group.subList(from, Math.min(group.size(), from + Dialect.BATCH_MAX));
        try {
          renewBatch(grants, batch, results, deadline);
          answered = true;
        } catch (StoreException e) {
          failure = e;
          for (int i : batch) {
            results[i] = new Renewal.Unknown(e);
          }
        }
      }
    }
    if (failure != null && !answered) {
      throw failure;
    }
    return Arrays.asList(results);
  }

  private <T> T onOwnConnection(Deadline deadline, Database.Question<T> question)
      throws StoreException {
    return database.untilAnswered(deadline, () -> database.onOwnConnection(deadline, question));
  }

  private void renewBatch(
      List<Grant> grants, List<Integer> batch, Renewal[] results, Deadline deadline)
      throws StoreException {
    List<Integer> open = batch;
    for (int tries = 1; !open.isEmpty(); tries++) {
      open = renewOnce(grants, open, results, deadline);
      if (!open.isEmpty() && (tries == LOCKED_TRIES || !Deadlines.pause(deadline, tries))) {
        for (int i : open) {
          results[i] = new Renewal.Unknown(locked());
        }
        return;
      }
    }
  }

  /**
   * Extends a grant to at least {@code ttl} from now. While a transaction has the row locked, tries
   * again until the store timeout; the lease may end meanwhile.
   *
   * @return the time left; empty if the grant does not have the lock
   */
  Optional<Duration> extend(JdbcGrant grant, Duration ttl) throws StoreException {
    Deadline deadline = database.deadline();
    long ttlMicros = Keys.microsUp(ttl);
    for (int tries = 1; ; tries++) {
      long leftMicros = database.onPoolOrOwnConnection(
          deadline, (d, c) -> d.extend(c, grant.stored(), grant.number(), ttlMicros));
      if (leftMicros != Dialect.NONE) {
        return Optional.of(Keys.duration(leftMicros));
      }
      List<Row> rows =
          database.onPoolOrOwnConnection(deadline, (d, c) -> d.look(c, List.of(grant.key())));
      if (rows.isEmpty() || !rows.get(0).isHeldBy(grant.ownerId(), grant.number())) {
        return Optional.empty();
      }
      if (rows.get(0).remainingMicros() >= ttlMicros) {
        // There was nothing to change, which a driver may be configured to report as if nothing had
        // matched.
        return Optional.of(Keys.duration(rows.get(0).remainingMicros()));
      }
      if (!Deadlines.pause(deadline, tries)) {
        throw locked();
      }
    }
  }

  /** Makes the exception for a row that stayed locked. */
  static StoreException locked() {
    return StoreException.refused("Another transaction has the lock's row locked", null);
  }

  /** Tries once to renew grants; returns those that are valid but could not be extended. */
  private List<Integer> renewOnce(
      List<Grant> grants, List<Integer> batch, Renewal[] results, Deadline deadline)
      throws StoreException {
    List<String> keys = new ArrayList<>(batch.size());
    List<String> owners = new ArrayList<>(batch.size());
    for (int i : batch) {
      keys.add(((JdbcGrant) grants.get(i)).key());
      owners.add(((JdbcGrant) grants.get(i)).ownerId());
    }
    Duration ttl = grants.get(batch.get(0)).claim().ttl();
    long ttlMicros = Keys.micros(ttl);
    long begin = System.nanoTime();
    onOwnConnection(deadline, (d, c) -> d.renew(c, keys, owners, ttlMicros));
    Map<String, Row> rows = new HashMap<>();
    for (Row row : onOwnConnection(deadline, (d, c) -> d.look(c, keys))) {
      rows.put(row.key(), row);
    }
    long elapsedMicros = (System.nanoTime() - begin) / 1_000;
    List<Integer> locked = new ArrayList<>();
    for (int i : batch) {
      JdbcGrant grant = (JdbcGrant) grants.get(i);
      Row row = rows.get(grant.key());
      if (row == null || !row.isHeldBy(grant.ownerId(), grant.number())) {
        results[i] = new Renewal.Lost();
      } else if (row.remainingMicros() < ttlMicros - elapsedMicros - SLACK_MICROS) {
        locked.add(i);
      } else {
        // The database counted the TTL from a moment after the engine made its call.
        results[i] = new Renewal.Renewed(ttl);
      }
    }
    return locked;
  }
}
