package io.holdfast.lock.spring;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.sql.DataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.Transactional;

/**
 * An application in a JVM of its own that is inside of two locked transactions, one guarded and one
 * not, until it reads a line. It prints the outcome of each.
 */
final class FrozenHolder {
  static final String INSIDE = "inside";

  private FrozenHolder() {}

  /** Arguments: the database's URL, user and password, and the prefix of both locks' names. */
  public static void main(String[] arguments) throws Exception {
    Database database = new Database(arguments[0], arguments[1], arguments[2]);
    HikariDataSource pool = database.pool();
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    context.register(TransactionTest.Transactions.class, App.Locks.class, Shop.class);
    context.registerBean(DataSource.class, () -> pool);
    context.registerBean(JdbcTemplate.class, () -> new JdbcTemplate(pool));
    context.registerBean(TransactionManager.class, () -> new DataSourceTransactionManager(pool));
    context.registerBean("locks", LockClient.class, () -> Database.locks(pool, "frozen"));
    context.refresh();
    Shop shop = context.getBean(Shop.class);
    String prefix = arguments[3];
    CountDownLatch go = new CountDownLatch(1);
    ExecutorService threads = Executors.newFixedThreadPool(2);
    List<CompletableFuture<Void>> calls = List.of(
        CompletableFuture.runAsync(
            () -> report("guarded", () -> shop.guarded(prefix + "guarded", () -> await(go))),
            threads),
        CompletableFuture.runAsync(
            () -> report("unguarded", () -> shop.unguarded(prefix + "unguarded", () -> await(go))),
            threads));
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      if (in.readLine() == null) {
        System.exit(1); // The test has ended.
      }
      go.countDown();
      calls.forEach(CompletableFuture::join);
      System.exit(0);
    }
  }

  private static void report(String name, Runnable call) {
    String outcome = "returned";
    try {
      call.run();
    } catch (RuntimeException e) {
      outcome = e.getClass().getSimpleName();
      e.printStackTrace();
    }
    say(name + " " + outcome);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static void await(CountDownLatch go) {
    say(INSIDE);
    try {
      go.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The locked methods. */
  static class Shop {
    private final JdbcTemplate jdbc;

    Shop(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Locked(name = "#{#name}", ttl = "3s", waitFor = "10s", guard = true)
    @Transactional
    public void guarded(String name, Runnable body) {
      sell(name, body);
    }

    @Locked(name = "#{#name}", ttl = "3s", waitFor = "10s")
    @Transactional
    public void unguarded(String name, Runnable body) {
      sell(name, body);
    }

    private void sell(String name, Runnable body) {
      jdbc.queryForObject("SELECT COUNT(*) FROM frozen_sold", Integer.class);
      jdbc.update("INSERT INTO frozen_sold VALUES (?)", name);
      body.run();
    }
  }
}
