package io.holdfast.lock.jdbc.connection;

import java.sql.Connection;
import java.util.function.BiConsumer;

/**
 * A connection on loan; closing this gives it back. Unless its borrower says that it works, the
 * lender tries not to lend it again (a pool breaks at most one in 20 ms).
 */
public final class Lent implements AutoCloseable {
  private final Connection connection;
  private final BiConsumer<Connection, Boolean> back;
  private boolean usable;

  /** @param back takes the connection back, and whether it is usable; never throws */
  Lent(Connection connection, BiConsumer<Connection, Boolean> back) {
    this.connection = connection;
    this.back = back;
  }

  public Connection connection() {
    return connection;
  }

  /** Notes that the connection works, so that it may be lent again. */
  public void markUsable() {
    usable = true;
  }

  @Override
  public void close() {
    close(usable);
  }

  /** Gives it back, and says whether it is usable. */
  void close(boolean isUsable) {
    back.accept(connection, isUsable);
  }
}
