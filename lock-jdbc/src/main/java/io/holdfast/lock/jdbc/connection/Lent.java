package io.holdfast.lock.jdbc.connection;

import java.sql.Connection;

/**
 * A connection that is lent until it is closed. Unless its borrower says that it works, it is taken
 * to be broken, or to lead to the wrong server, and is not lent again.
 */
public final class Lent implements AutoCloseable {
  private final Connection connection;
  private final Return back;
  private boolean usable;

  Lent(Connection connection, Return back) {
    this.connection = connection;
    this.back = back;
  }

  /** Takes a connection back. Never throws. */
  @FunctionalInterface
  interface Return {
    void take(Connection connection, boolean usable);
  }

  public Connection connection() {
    return connection;
  }

  /** Says that the connection works. */
  public void works() {
    usable = true;
  }

  @Override
  public void close() {
    back.take(connection, usable);
  }
}
