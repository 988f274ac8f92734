package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;
import org.jspecify.annotations.Nullable;

/** Who lends connections, each to one borrower at a time. Safe for all threads. */
interface Lender {
  /** Lends a connection within the deadline; it must be given back. */
  Connection lend(Deadline deadline) throws NoConnectionException;

  /** Lends a connection if that takes no time at all; null otherwise. */
  default @Nullable Connection lendIfReady() {
    return null;
  }

  /** Takes a connection back; one that is not usable had trouble on its line. Never throws. */
  void giveBack(Connection connection, boolean usable);
}
