package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.dialect.Listing;
import io.holdfast.lock.jdbc.dialect.Reader;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The holders of locks, of whatever client, as administrators see them. */
final class Holders {
  private final Database database;
  private final Listing listing;

  Holders(Database database) {
    this.database = database;
    listing = new Listing(database.dialect());
  }

  /** Returns the holder of a lock that is taken, or one of those who share it. */
  static Optional<StoredHolder> holder(Row row) {
    if (row.isShared()) {
      return readers(row).stream().findFirst();
    }
    return Optional.of(new StoredHolder(
        row.number(),
        row.holder(),
        instant(row.changedAtMicros()),
        Keys.duration(row.remainingMicros()),
        row.owner().isEmpty()));
  }

  /** Returns those who share a lock. */
  static List<StoredHolder> readers(Row row) {
    return row.reading().stream()
        .map(reader -> holder(row, reader, reader.holder()))
        .toList();
  }

  /** Returns those who have a permit, in the order of the permits. */
  static List<StoredPermit> permits(Row row) {
    return row.reading().stream()
        .map(entry -> new StoredPermit(entry.permit(), holder(row, entry, entry.permitHolder())))
        .sorted(Comparator.comparingInt(StoredPermit::permit))
        .toList();
  }

  private static StoredHolder holder(Row row, Reader entry, String description) {
    return new StoredHolder(
        entry.number(),
        description,
        instant(entry.number()), // A number is the time of the grant, or a little more.
        Keys.duration(entry.endMicros() - row.nowMicros()),
        entry.isKept());
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  /** Reads a range of the index, page by page, so that each statement is short. */
  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = database.deadline();
    String prefix = Keys.prefix(kind, namePrefix);
    String end = Keys.above(prefix);
    List<StoredLock> held = new ArrayList<>();
    String from = prefix;
    while (!from.equals(end) && held.size() < limit) {
      if (deadline.isOver()) {
        throw StoreException.refused(
            ("The names that begin with '%s' could not all be looked at within %s: list with a longer"
                    + " prefix, purge names that are no longer used, or build the client with a"
                    + " longer storeTimeout")
                .formatted(namePrefix, deadline.whole()),
            null);
      }
      String first = from;
      Page page = database.onPool(deadline, c -> {
        String next = listing.endOfPage(c, first, end);
        return new Page(listing.listHeld(c, first, next, limit - held.size()), next);
      });
      for (Standing standing : page.held()) {
        LockKey key = Keys.parse(kind, standing.row().key());
        OptionalInt waiting = OptionalInt.of(standing.ahead());
        holder(standing.row()).ifPresent(holder -> held.add(new StoredLock(key, holder, waiting)));
      }
      from = page.next();
    }
    return held;
  }

  /**
   * The taken locks in a part of the range.
   *
   * @param next the name at which the next part begins, or the end of the range
   */
  private record Page(List<Standing> held, String next) {}
}
