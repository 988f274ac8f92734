package io.holdfast.lock.examples.shop;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the database says of the sales of an event. */
final class Books implements AutoCloseable {
  private static final int POLL_MILLIS = 20;

  private final Connection connection;
  private final String event;

  Books(Postgres postgres, String event) throws SQLException {
    this.connection = postgres.connect();
    this.event = event;
  }

  /** Waits until so many tickets are sold. */
  void awaitSold(int tickets, Duration max) throws SQLException, InterruptedException {
    long untilNanos = System.nanoTime() + max.toNanos();
    while (sold() < tickets) {
      if (System.nanoTime() - untilNanos > 0) {
        throw new IllegalStateException(
            "Only " + sold() + " of " + tickets + " were sold within " + max.toSeconds() + " s");
      }
      Thread.sleep(POLL_MILLIS);
    }
  }

  int sold() throws SQLException {
    return number("SELECT count(*) FROM ticket WHERE event = ?");
  }

  /** The tickets that were sold, each counted once. */
  int numbers() throws SQLException {
    return number("SELECT count(DISTINCT number) FROM ticket WHERE event = ?");
  }

  /** The pairs of sales of which one began before the other had ended. */
  int overlaps() throws SQLException {
    return number("SELECT count(*) FROM ticket a JOIN ticket b ON a.event = b.event"
        + " AND a.purchase <> b.purchase AND a.began >= b.began AND a.began < b.sold"
        + " WHERE a.event = ?");
  }

  /** The longest time without a sale, from one to the next. */
  Duration pause() throws SQLException {
    return Duration.ofMillis(number("SELECT coalesce(max(extract(epoch FROM gap) * 1000), 0) FROM"
        + " (SELECT sold - lag(sold) OVER (ORDER BY sold) AS gap FROM ticket WHERE event = ?)"
        + " AS gaps"));
  }

  /** The number of tickets that each instance sold. */
  Map<String, Integer> soldBy() throws SQLException {
    Map<String, Integer> sellers = new LinkedHashMap<>();
    try (PreparedStatement select = connection.prepareStatement(
        "SELECT seller, count(*) FROM ticket WHERE event = ? GROUP BY seller ORDER BY seller")) {
      select.setString(1, event);
      try (ResultSet row = select.executeQuery()) {
        while (row.next()) {
          sellers.put(row.getString(1), row.getInt(2));
        }
      }
    }
    return sellers;
  }

  private int number(String query) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(query)) {
      select.setString(1, event);
      try (ResultSet row = select.executeQuery()) {
        row.next();
        return row.getInt(1);
      }
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
