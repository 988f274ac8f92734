package io.holdfast.lock.examples.tickets;

import io.holdfast.lock.jdbc.Fenced;
import io.holdfast.lock.jdbc.JdbcGuard;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * The tickets of one sale: how many are left, and who was sold which seat. It sells as a naive
 * program does: it reads how many are left, and writes one less later.
 */
final class BoxOffice {
  private final DataSource dataSource;
  private final String sale;

  BoxOffice(DataSource dataSource, String sale) {
    this.dataSource = dataSource;
    this.sale = sale;
  }

  static void createTables(DataSource dataSource) throws SQLException {
    dropTables(dataSource);
    execute(
        dataSource,
        "CREATE TABLE holdfast_demo_sale (sale VARCHAR(20) PRIMARY KEY, seats_left INT NOT NULL,"
            + " token BIGINT NOT NULL)",
        "CREATE TABLE holdfast_demo_ticket (id VARCHAR(36) PRIMARY KEY, sale VARCHAR(20) NOT NULL,"
            + " seat INT NOT NULL, seller VARCHAR(20) NOT NULL, token BIGINT NOT NULL)");
  }

  static void dropTables(DataSource dataSource) throws SQLException {
    execute(
        dataSource,
        "DROP TABLE IF EXISTS holdfast_demo_sale",
        "DROP TABLE IF EXISTS holdfast_demo_ticket",
        "DROP TABLE IF EXISTS " + Locks.TABLE);
  }

  /** Begins the sale. */
  void open(int seats) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        PreparedStatement insert =
            connection.prepareStatement("INSERT INTO holdfast_demo_sale VALUES (?, ?, 0)")) {
      insert.setString(1, sale);
      insert.setInt(2, seats);
      insert.executeUpdate();
    }
  }

  int seatsLeft() throws SQLException {
    return number("SELECT seats_left FROM holdfast_demo_sale WHERE sale = ?");
  }

  /** Sells a seat: writes the number that was read, less one. */
  void sell(int seat, String seller, long token) throws SQLException {
    inTransaction(transaction -> write(transaction, seat, seller, token));
  }

  /** Sells a seat in a transaction that commits only if the lease of the guard is still valid. */
  void sell(int seat, String seller, long token, JdbcGuard guard) throws SQLException {
    inTransaction(transaction -> {
      write(transaction, seat, seller, token);
      guard.verify(transaction);
    });
  }

  /** Sells a seat, unless a write with a higher token came before. */
  void sellFenced(int seat, String seller, long token) throws SQLException {
    inTransaction(transaction -> {
      try (PreparedStatement update = transaction.prepareStatement(
          "UPDATE holdfast_demo_sale SET token = ? WHERE sale = ? AND token <= ?")) {
        update.setLong(1, token);
        update.setString(2, sale);
        update.setLong(3, token);
        Fenced.update(update);
      }
      write(transaction, seat, seller, token);
    });
  }

  private interface Work {
    void in(Connection transaction) throws SQLException;
  }

  private void inTransaction(Work work) throws SQLException {
    try (Connection transaction = dataSource.getConnection()) {
      transaction.setAutoCommit(false);
      try {
        work.in(transaction);
        transaction.commit();
      } catch (SQLException | RuntimeException e) {
        transaction.rollback();
        throw e;
      }
    }
  }

  private void write(Connection transaction, int seat, String seller, long token)
      throws SQLException {
    try (PreparedStatement update = transaction.prepareStatement(
            "UPDATE holdfast_demo_sale SET seats_left = ?, token = ? WHERE sale = ?");
        PreparedStatement insert = transaction.prepareStatement(
            "INSERT INTO holdfast_demo_ticket VALUES (?, ?, ?, ?, ?)")) {
      update.setInt(1, seat - 1);
      update.setLong(2, token);
      update.setString(3, sale);
      update.executeUpdate();
      insert.setString(1, UUID.randomUUID().toString());
      insert.setString(2, sale);
      insert.setInt(3, seat);
      insert.setString(4, seller);
      insert.setLong(5, token);
      insert.executeUpdate();
    }
  }

  int ticketsSold() throws SQLException {
    return number("SELECT COUNT(*) FROM holdfast_demo_ticket WHERE sale = ?");
  }

  int seatsSold() throws SQLException {
    return number("SELECT COUNT(DISTINCT seat) FROM holdfast_demo_ticket WHERE sale = ?");
  }

  /** Returns the number of tickets for the seat that was sold most often. */
  int mostForOneSeat() throws SQLException {
    return number("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM holdfast_demo_ticket"
        + " WHERE sale = ? GROUP BY seat) AS seats");
  }

  /** Returns the number of tickets sold with a token no higher than that of the ticket before. */
  int tokensThatDidNotRise() throws SQLException {
    // Seats are sold from the highest to the lowest.
    return number("SELECT COUNT(*) FROM holdfast_demo_ticket t JOIN holdfast_demo_ticket earlier"
        + " ON earlier.sale = t.sale AND earlier.seat = t.seat + 1"
        + " WHERE t.sale = ? AND t.token <= earlier.token");
  }

  private int number(String query) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        PreparedStatement select = connection.prepareStatement(query)) {
      select.setString(1, sale);
      try (ResultSet result = select.executeQuery()) {
        result.next();
        return result.getInt(1);
      }
    }
  }

  private static void execute(DataSource dataSource, String... statements) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }
}
