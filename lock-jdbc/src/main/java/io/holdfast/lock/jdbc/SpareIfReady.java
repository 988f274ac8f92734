package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;
import org.jspecify.annotations.Nullable;

/**
 * Lends the client's own connection if that is free, and one of the pool otherwise. For one call.
 */
final class SpareIfReady implements Lender {
  private final Lender spare;
  private final Lender pool;
  private @Nullable Connection ready;

  SpareIfReady(Lender spare, Lender pool) {
    this.spare = spare;
    this.pool = pool;
  }

  @Override
  public Connection lend(Deadline deadline) throws NoConnectionException {
    Connection own = spare.lendIfReady();
    ready = own;
    return own != null ? own : pool.lend(deadline);
  }

  @Override
  public void giveBack(Connection connection, boolean usable) {
    (connection == ready ? spare : pool).giveBack(connection, usable);
  }
}
