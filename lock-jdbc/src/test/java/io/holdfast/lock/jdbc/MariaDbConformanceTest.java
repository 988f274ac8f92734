package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on this database. */
@Tag("nightly")
class MariaDbConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() throws SQLException {
    return new JdbcFixture(KitContainer.mariaDb());
  }
}
