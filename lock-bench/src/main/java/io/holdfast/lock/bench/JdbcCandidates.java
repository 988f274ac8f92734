package io.holdfast.lock.bench;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.sql.Driver;
import java.util.EnumSet;
import java.util.List;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** Who is compared on SQL databases. */
final class JdbcCandidates {
  private JdbcCandidates() {}

  static List<Candidate> mySql() {
    return all(
        com.mysql.cj.jdbc.Driver.class,
        "mysql",
        new Candidate(
            "session-lock",
            "MySQL GET_LOCK",
            Candidate.Role.SESSION,
            com.mysql.cj.jdbc.Driver.class,
            Scenario.ALL_BUT_LEASES,
            url -> new SessionLocks(url, "SELECT GET_LOCK(?, -1)", "SELECT RELEASE_LOCK(?)")));
  }

  static List<Candidate> postgres() {
    return all(
        org.postgresql.Driver.class,
        "postgresql",
        new Candidate(
            "session-lock",
            "PostgreSQL advisory lock",
            Candidate.Role.SESSION,
            org.postgresql.Driver.class,
            Scenario.ALL_BUT_LEASES,
            url -> new SessionLocks(
                url,
                "SELECT pg_advisory_lock(hashtextextended(?, 0))",
                "SELECT pg_advisory_unlock(hashtextextended(?, 0))")));
  }

  private static List<Candidate> all(
      Class<? extends Driver> driver, String dialect, Candidate sessionLock) {
    return List.of(
        new Candidate(
            "floor",
            "floor: UPDATE, UPDATE",
            Candidate.Role.FLOOR,
            driver,
            Scenario.ONE_JVM,
            BareUpdates::new),
        new Candidate(
            "floor-row",
            "floor: SELECT FOR UPDATE, COMMIT",
            Candidate.Role.FLOOR,
            driver,
            Scenario.SEVERAL_JVMS,
            BareRowLocks::new),
        new Candidate(
            "holdfast",
            "Holdfast",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            Scenario.ALL_BUT_LEASES,
            url -> holdfast(url, true)),
        new Candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            url -> holdfast(url, false)),
        new Candidate(
            "spring",
            "Spring Integration",
            Candidate.Role.PEER,
            JdbcLockRegistry.class,
            Scenario.ALL_BUT_LEASES,
            url -> spring(url, dialect)),
        new Candidate(
            "shedlock",
            "ShedLock",
            Candidate.Role.PEER,
            JdbcTemplateLockProvider.class,
            Scenario.FREE,
            url -> shedLock(url, dialect)),
        sessionLock);
  }

  private static HikariDataSource pool(String url) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    return new HikariDataSource(config);
  }

  private static Client holdfast(String url, boolean localHandOff) {
    HikariDataSource pool = pool(url);
    LockClient locks = JdbcLocks.builder(pool)
        .schema(SchemaMode.CREATE)
        .localHandOff(localHandOff)
        .build();
    return new HoldfastClient(locks);
  }

  private static Client spring(String url, String dialect) {
    HikariDataSource pool = pool(url);
    // Another JVM may have made the tables already.
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
    JdbcLockRegistry registry = new JdbcLockRegistry(repository);
    return new JavaLockClient(registry::obtain);
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
