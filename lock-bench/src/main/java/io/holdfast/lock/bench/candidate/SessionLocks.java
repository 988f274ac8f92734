package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Share;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The database's own locks, each of which lasts as long as the connection that is kept for it. */
final class SessionLocks extends SqlMutexes {
  private final @Nullable Queries read;
  private final @Nullable Queries write;

  /** The queries that take a lock and give it back. */
  record Queries(String take, String give) {}

  /**
   * @param read null if the locks are never read
   * @param write null if they are only read
   */
  SessionLocks(String url, @Nullable Queries read, @Nullable Queries write) {
    super(url);
    this.read = read;
    this.write = write;
  }

  @Override
  public Mutex mutex(String name) throws SQLException {
    if (read == null) {
      return mutex(name, Objects.requireNonNull(write), Share.ALL);
    }
    Mutex reading = mutex(name, read, Share.READ);
    return write == null ? reading : Mutex.mostlyReading(reading, mutex(name, write, Share.ALL));
  }

  private Mutex mutex(String name, Queries queries, Share share) throws SQLException {
    PreparedStatement taking = statement(queries.take());
    PreparedStatement giving = statement(queries.give());
    return Mutex.of(() -> query(taking, name), () -> query(giving, name), share);
  }
}
