package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.process.KilledHoldersSoak;
import java.sql.SQLException;

/** Processes that hold locks and permits on this database are killed. */
class MariaDbKilledHoldersTest extends KilledHoldersSoak {
  @Override
  protected Fixture openFixture() throws SQLException {
    return new JdbcFixture(KitContainer.mariaDb());
  }
}
