package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;

/** Who lends connections, each to one borrower at a time. Safe for all threads. */
interface Lender {
  /** Lends a connection within the deadline; it must be given back. */
  Connection lend(Deadline deadline) throws NoConnectionException;

  /**
   * Takes a connection back. One that is not usable had trouble on its line, or leads to a server
   * that is not the right one: nobody shall be lent it again. Never throws.
   */
  void giveBack(Connection connection, boolean usable);
}
