package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import java.sql.SQLException;

/** The rules of docs/SPEC.md on this database. */
class MariaDbConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() throws SQLException {
    return new JdbcFixture(KitContainer.mariaDb());
  }
}
