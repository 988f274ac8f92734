package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Claims;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The statements of the page for the DBA do what it says. */
class DbaPageTest {
  private static final Path PAGE = Path.of("../docs/backends/jdbc-dba.md");
  private static final Pattern SQL = Pattern.compile("```sql\n(.*?)```", Pattern.DOTALL);

  @ParameterizedTest
  @CsvSource({"POSTGRES, PostgreSQL", "MYSQL, MySQL", "MARIADB, MySQL"})
  void itsStatementsShowWhoHasALockAndWhoWaitsAndFreeIt(Server server, String section)
      throws Exception {
    LockKey key = Claims.freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore holder = Stores.open(pool);
        JdbcStore waiter = Stores.open(pool);
        Connection admin = server.connect()) {
      Grant grant = holder.tryAcquire(claim(key)).orElseThrow();
      Acquisition.Queued queued = (Acquisition.Queued) waiter.acquireOrQueue(claim(key), () -> {});
      createUser(admin, server);
      List<Integer> answered = new ArrayList<>();
      for (String sql : statements(section)) {
        String about = sql.replace("orders/42", key.name())
            .replace("number = 1", "number = " + grant.number());
        answered.add(run(admin, about, Keys.of(key)));
      }

      // Those that ask who has it and who waits find one each; that which frees it changes one.
      assertThat(answered.stream().filter(rows -> rows == 1)).hasSize(3);
      assertThat(queued.ticket().poll()).isInstanceOf(Ticket.Granted.class);
      assertThat(holder.verify(grant)).isEmpty();
    }
  }

  private static List<String> statements(String section) throws Exception {
    String page = Files.readString(PAGE);
    int begin = page.indexOf("\n## " + section + "\n");
    String text = page.substring(
        begin,
        page.indexOf("\n## ", begin + 4) < 0 ? page.length() : page.indexOf("\n## ", begin + 4));
    List<String> statements = new ArrayList<>();
    Matcher blocks = SQL.matcher(text);
    while (blocks.find()) {
      statements.addAll(List.of(blocks.group(1).strip().split(";\\s*")));
    }
    assertThat(statements).hasSizeGreaterThan(5);
    return statements;
  }

  /** Rows with this name that were found; or how many were changed. */
  private static int run(Connection admin, String sql, String name) throws Exception {
    try (Statement statement = admin.createStatement()) {
      if (!statement.execute(sql)) {
        return Math.max(0, statement.getUpdateCount());
      }
      int found = 0;
      try (ResultSet result = statement.getResultSet()) {
        while (result.next()) {
          found += name.equals(String.valueOf(result.getString(1))) ? 1 : 0;
        }
      }
      return found;
    }
  }

  private static void createUser(Connection admin, Server server) throws Exception {
    try (Statement statement = admin.createStatement()) {
      statement.execute(
          server == Server.POSTGRES
              ? "DO $$ BEGIN CREATE USER app; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
              : "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'not-the-real-one-1A'");
    }
  }
}
