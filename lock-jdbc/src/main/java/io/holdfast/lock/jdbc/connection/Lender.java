package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;

/**
 * A source of connections, each lent to one borrower at a time. Safe for use by any number of
 * threads.
 */
public interface Lender {
  /** Lends a connection within the deadline. It must be given back. */
  Connection lend(Deadline deadline) throws NoConnectionException;

  /**
   * Takes a connection back. Never throws.
   *
   * @param usable false if the connection failed, or leads to the wrong server, and must not be
   *     lent again
   */
  void giveBack(Connection connection, boolean usable);
}
