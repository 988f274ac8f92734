package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.ChildJvm;
import io.holdfast.lock.testsupport.Image;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;

/** A process that is stopped within its transaction, while others get its locks. */
@Tag("nightly")
class FrozenHolderTest {
  private static final Duration TAKEOVER_MAX = Duration.ofSeconds(30);

  @ParameterizedTest
  @EnumSource
  void aFrozenHolderCannotCommitWithAGuardAndCanWithout(Server server) throws Exception {
    String prefix = "frozen/" + UUID.randomUUID() + "/";
    try (var running = server.start()) {
      Database database = new Database(running.url(), running.user(), Image.PASSWORD);
      try (HikariDataSource pool = database.pool();
          LockClient others = Database.locks(pool, "others")) {
        JdbcTemplate jdbc = new JdbcTemplate(pool);
        jdbc.execute("CREATE TABLE frozen_sold (name VARCHAR(200))");
        Process holder = ChildJvm.of(
                FrozenHolder.class, database.url(), database.user(), database.password(), prefix)
            .start();
        try (BufferedReader says = holder.inputReader();
            BufferedWriter orders = holder.outputWriter()) {
          assertThat(says.readLine()).isEqualTo(FrozenHolder.INSIDE);
          assertThat(says.readLine()).isEqualTo(FrozenHolder.INSIDE);
          ChildJvm.freeze(holder);
          try (Lease first = others.get(prefix + "guarded").lockWithin(TAKEOVER_MAX);
              Lease second = others.get(prefix + "unguarded").lockWithin(TAKEOVER_MAX)) {
            // So it commits at once when it wakes up, before it looks at its lease.
            orders.write("go\n");
            orders.flush();
            ChildJvm.thaw(holder);
            assertThat(List.of(says.readLine(), says.readLine()))
                .containsExactlyInAnyOrder(
                    "guarded LockLostException", "unguarded LockLostException");
            first.verify();
            second.verify();
          }
        } finally {
          holder.destroyForcibly().waitFor();
        }
        assertThat(jdbc.queryForList("SELECT name FROM frozen_sold", String.class))
            .containsExactly(prefix + "unguarded");
      }
    }
  }

  /** The databases that locks can be in, beside H2. */
  enum Server {
    MYSQL,
    MARIADB,
    POSTGRES;

    private io.holdfast.lock.testsupport.Database start() {
      return switch (this) {
        case MYSQL -> io.holdfast.lock.testsupport.Database.mySql();
        case MARIADB -> io.holdfast.lock.testsupport.Database.mariaDb();
        case POSTGRES -> io.holdfast.lock.testsupport.Database.postgres();
      };
    }
  }
}
