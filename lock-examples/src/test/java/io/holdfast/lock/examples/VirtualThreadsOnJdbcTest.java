package io.holdfast.lock.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** Ten thousand virtual threads want a few locks of one client, on a pool of four connections. */
@EnabledForJreRange(min = JRE.JAVA_21, disabledReason = "virtual threads came with JDK 21")
@Timeout(180)
class VirtualThreadsOnJdbcTest {
  private static final int THREADS = 10_000;
  private static final int LOCKS = 4;

  private final int[] turns = new int[LOCKS];
  private final AtomicInteger started = new AtomicInteger();
  private final HikariDataSource dataSource = new HikariDataSource();
  private ExecutorService threads;

  @BeforeEach
  void open() throws ReflectiveOperationException {
    dataSource.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    dataSource.setMaximumPoolSize(4);
    // By reflection, since we compile for JDK 17.
    threads = (ExecutorService)
        Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
  }

  @AfterEach
  void close() {
    threads.shutdownNow();
    dataSource.close();
  }

  @Test
  void allGetTheirTurn() throws Exception {
    try (LockClient locks =
        JdbcLocks.builder(dataSource).schema(SchemaMode.CREATE).build()) {
      takeTurns(locks);
    }
  }

  @Test
  void allGetTheirTurnWhenEachAsksTheDatabase() throws Exception {
    try (LockClient locks = JdbcLocks.builder(dataSource)
        .schema(SchemaMode.CREATE)
        .localHandOff(false)
        .build()) {
      takeTurns(locks);
    }
  }

  @Test
  void allGetTheirTurnAgainstAnotherClient() throws Exception {
    try (LockClient locks =
            JdbcLocks.builder(dataSource).schema(SchemaMode.CREATE).build();
        LockClient others = JdbcLocks.builder(dataSource).build()) {
      takeTurns(locks, others);
    }
  }

  private void takeTurns(LockClient... clients) throws Exception {
    // All locks are held at first, so that everybody waits.
    List<Lease> held = new ArrayList<>();
    for (int lock = 0; lock < LOCKS; lock++) {
      held.add(clients[0].get(Integer.toString(lock)).lock());
    }
    List<Future<?>> tasks = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int lock = i % LOCKS;
      LockClient client = clients[i / LOCKS % clients.length];
      tasks.add(threads.submit(() -> {
        started.incrementAndGet();
        client.get(Integer.toString(lock)).run(lease -> turns[lock]++);
        return null;
      }));
    }
    while (started.get() < THREADS) {
      Thread.sleep(1);
    }
    held.forEach(Lease::close);
    for (Future<?> task : tasks) {
      task.get(150, TimeUnit.SECONDS);
    }
    assertThat(turns).containsOnly(THREADS / LOCKS);
  }
}
