package io.holdfast.lock.spring.integration;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * An application in a JVM of its own, whose threads count in a table, under a lock of the registry:
 * each reads the count, and writes one more in another transaction. It prints that it is ready, and
 * counts once it has read a line.
 */
final class CountingApplication {
  static final int THREADS = 4;
  static final int ROUNDS = 50;
  static final String READY = "ready";

  private final DataSource pool;

  private CountingApplication(DataSource pool) {
    this.pool = pool;
  }

  /** Arguments: the host and the port of PostgreSQL. */
  public static void main(String[] arguments) throws Exception {
    HikariDataSource pool = Server.postgresPool(arguments[0], Integer.parseInt(arguments[1]));
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.registerBean(DataSource.class, () -> pool);
      context.registerBean(
          LockClient.class,
          () -> JdbcLocks.builder(context.getBean(DataSource.class))
              .schema(SchemaMode.CREATE)
              .build());
      context.registerBean(
          HoldfastLockRegistry.class,
          () -> new HoldfastLockRegistry(context.getBean(LockClient.class), "integration/"));
      context.refresh();
      LockRegistry<?> registry = context.getBean(LockRegistry.class);
      System.out.println(READY);
      if (System.in.read() < 0) {
        return; // The test has ended.
      }
      CountingApplication application = new CountingApplication(pool);
      List<Future<?>> tasks = IntStream.range(0, THREADS)
          .<Future<?>>mapToObj(thread -> threads.submit(() -> {
            for (int round = 0; round < ROUNDS; round++) {
              registry.executeLocked("count", application::count);
            }
            return null;
          }))
          .toList();
      for (Future<?> task : tasks) {
        task.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private void count() throws SQLException {
    try (Connection connection = pool.getConnection();
        Statement read = connection.createStatement();
        ResultSet row = read.executeQuery("SELECT count FROM counter");
        PreparedStatement write = connection.prepareStatement("UPDATE counter SET count = ?")) {
      row.next();
      write.setInt(1, row.getInt("count") + 1);
      write.executeUpdate();
    }
  }
}
