package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A process that is stopped within its transaction, while others get its locks. */
@Tag("nightly")
class FrozenHolderTest {
  private static final Duration TAKEOVER_MAX = Duration.ofSeconds(30);

  @ParameterizedTest
  @EnumSource
  void aFrozenHolderCannotCommitWithAGuardAndCanWithout(Server server) throws Exception {
    String prefix = "frozen/" + UUID.randomUUID() + "/";
    try (GenericContainer<?> container = server.start()) {
      Database database = server.in(container);
      try (HikariDataSource pool = database.pool();
          LockClient others = Database.locks(pool, "others")) {
        JdbcTemplate jdbc = new JdbcTemplate(pool);
        jdbc.execute("CREATE TABLE frozen_sold (name VARCHAR(200))");
        Process holder = start(database, prefix);
        try (BufferedReader says = holder.inputReader();
            BufferedWriter orders = holder.outputWriter()) {
          assertThat(says.readLine()).isEqualTo(FrozenHolder.INSIDE);
          assertThat(says.readLine()).isEqualTo(FrozenHolder.INSIDE);
          signal(holder, "STOP");
          try (Lease first = others.get(prefix + "guarded").lockWithin(TAKEOVER_MAX);
              Lease second = others.get(prefix + "unguarded").lockWithin(TAKEOVER_MAX)) {
            // So it commits at once when it wakes up, before it looks at its lease.
            orders.write("go\n");
            orders.flush();
            signal(holder, "CONT");
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

  private static Process start(Database database, String prefix) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.addAll(List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"));
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(FrozenHolder.class.getName());
    command.addAll(List.of(database.url(), database.user(), database.password(), prefix));
    return new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static void signal(Process process, String name) throws Exception {
    int exit = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
        .start()
        .waitFor();
    assertThat(exit).isZero();
  }

  /** The databases that locks can be in, beside H2. */
  @SuppressWarnings("ImmutableEnumChecker") // Map.of makes maps that never change.
  enum Server {
    MYSQL(
        "mysql:9",
        3306,
        "root",
        "jdbc:mysql://%s:%d/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true",
        ".*ready for connections.*port: 3306.*",
        Map.of("MYSQL_ROOT_PASSWORD", "holdfast", "MYSQL_DATABASE", "holdfast")),
    MARIADB(
        "mariadb:11.8",
        3306,
        "root",
        "jdbc:mariadb://%s:%d/holdfast",
        ".*port: 3306.*",
        Map.of("MARIADB_ROOT_PASSWORD", "holdfast", "MARIADB_DATABASE", "holdfast")),
    POSTGRES(
        "postgres:17",
        5432,
        "postgres",
        "jdbc:postgresql://%s:%d/holdfast",
        // The first such line is of the server that makes the accounts.
        ".*database system is ready to accept connections.*",
        Map.of("POSTGRES_PASSWORD", "holdfast", "POSTGRES_DB", "holdfast"));

    private final String image;
    private final int port;
    private final String user;
    private final String urlPattern;
    private final String readyLog;
    private final Map<String, String> environment;

    Server(
        String image,
        int port,
        String user,
        String urlPattern,
        String readyLog,
        Map<String, String> environment) {
      this.image = image;
      this.port = port;
      this.user = user;
      this.urlPattern = urlPattern;
      this.readyLog = readyLog;
      this.environment = environment;
    }

    GenericContainer<?> start() {
      Assumptions.assumeTrue(
          "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
          "Docker is not available: dev/containers up");
      GenericContainer<?> container = new GenericContainer<>(image)
          .withExposedPorts(port)
          .withEnv(environment)
          .waitingFor(Wait.forLogMessage(readyLog, this == POSTGRES ? 2 : 1)
              .withStartupTimeout(Duration.ofMinutes(2)));
      container.start();
      return container;
    }

    Database in(GenericContainer<?> container) {
      String url = String.format(
          Locale.ROOT, urlPattern, container.getHost(), container.getFirstMappedPort());
      return new Database(url, user, "holdfast");
    }
  }
}
