package io.holdfast.lock.bench.candidate;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.bench.candidate.SessionLocks.Queries;
import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.bench.server.Sql;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.sql.Driver;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** The candidates on SQL databases. */
final class JdbcCandidates {
  private static final Duration SPRING_TTL = Duration.ofSeconds(60);

  private JdbcCandidates() {}

  static List<Candidate> mySql() {
    Queries write = new Queries("SELECT GET_LOCK(?, -1)", "SELECT RELEASE_LOCK(?)");
    Class<? extends Driver> driver = com.mysql.cj.jdbc.Driver.class;
    return Candidate.list(
        floors(driver),
        holdfast(),
        spring("mysql"),
        shedLock("mysql"),
        session(
            "session-lock",
            "MySQL GET_LOCK",
            driver,
            Scenario.ALL,
            url -> new SessionLocks(url, null, write)));
  }

  static List<Candidate> postgres() {
    Queries read = new Queries(
        "SELECT pg_advisory_lock_shared(hashtextextended(?, 0))",
        "SELECT pg_advisory_unlock_shared(hashtextextended(?, 0))");
    Queries write = new Queries(
        "SELECT pg_advisory_lock(hashtextextended(?, 0))",
        "SELECT pg_advisory_unlock(hashtextextended(?, 0))");
    Class<? extends Driver> driver = org.postgresql.Driver.class;
    String label = "PostgreSQL advisory lock";
    return Candidate.list(
        floors(driver),
        holdfast(),
        spring("postgresql"),
        shedLock("postgresql"),
        session(
            "session-lock", label, driver, Scenario.ALL, url -> new SessionLocks(url, null, write)),
        session(
            "session-reads",
            label,
            driver,
            Scenario.READING,
            url -> new SessionLocks(url, read, null)),
        session(
            "session-read-write",
            label,
            driver,
            Scenario.MOSTLY_READING,
            url -> new SessionLocks(url, read, write)));
  }

  private static List<Candidate> floors(Class<? extends Driver> driver) {
    return List.of(
        Candidate.floor("floor", "UPDATE, UPDATE", driver, Scenario.ONE_JVM, BareUpdates::new),
        Candidate.floor(
            "floor-row",
            "SELECT FOR UPDATE, COMMIT",
            driver,
            Scenario.SEVERAL_JVMS,
            BareRowLocks::new));
  }

  private static List<Candidate> holdfast() {
    return HoldfastClient.candidates(
        url -> JdbcLocks.builder(pool(url)).schema(SchemaMode.CREATE), JdbcLocks.Builder::build);
  }

  private static Candidate spring(String dialect) {
    return Candidate.peer(
        "spring",
        "Spring Integration",
        JdbcLockRegistry.class,
        Scenario.ALL_BUT_LEASES,
        url -> spring(url, dialect));
  }

  private static Candidate shedLock(String dialect) {
    return Candidate.peer(
        "shedlock",
        "ShedLock",
        JdbcTemplateLockProvider.class,
        Scenario.FREE,
        url -> shedLock(url, dialect));
  }

  private static Candidate session(
      String id,
      String label,
      Class<? extends Driver> driver,
      Set<Scenario> scenarios,
      Client.Opener opener) {
    return Candidate.of(id, label, Candidate.Role.SESSION, driver, scenarios, opener);
  }

  private static HikariDataSource pool(String url) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    return new HikariDataSource(config);
  }

  private static Client spring(String url, String dialect) {
    HikariDataSource pool = pool(url);
    // Another JVM may have created the tables already.
    new ResourceDatabasePopulator(
            true,
            true,
            "UTF-8",
            new ClassPathResource(
                "org/springframework/integration/jdbc/schema-" + dialect + ".sql"))
        .execute(pool);
    DefaultLockRepository repository = new DefaultLockRepository(pool);
    repository.setTransactionManager(new JdbcTransactionManager(pool));
    if (dialect.equals("postgresql")) {
      // As its documentation advises for PostgreSQL.
      repository.setInsertQuery(repository.getInsertQuery() + " ON CONFLICT DO NOTHING");
    }
    repository.afterPropertiesSet();
    repository.afterSingletonsInstantiated();
    repository.start();
    // The default is ten seconds without renewal, which is too short for a lock that others wait
    // for.
    JdbcLockRegistry registry = new JdbcLockRegistry(repository, SPRING_TTL);
    return Client.of(registry::obtain);
  }

  private static Client shedLock(String url, String dialect) {
    HikariDataSource pool = pool(url);
    try (Sql sql = new Sql(url)) {
      // As its documentation has it.
      String time = dialect.equals("mysql") ? "TIMESTAMP(3)" : "TIMESTAMP";
      sql.create(
          "CREATE TABLE IF NOT EXISTS shedlock (name VARCHAR(64) NOT NULL, lock_until " + time
              + " NOT NULL, locked_at " + time
              + " NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
    }
    return new ShedLockClient(
        new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
            .withJdbcTemplate(new JdbcTemplate(pool))
            .usingDbTime()
            .build()));
  }
}
