package io.holdfast.lock.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.JointLease;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.jdbc.Fenced;
import io.holdfast.lock.jdbc.JdbcGuard;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.jdbc.StaleWriteException;
import io.holdfast.lock.jdbc.TransactionLock;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The samples of the documentation: what stands between a tag and its end is quoted there. */
class SamplesTest {
  private final HikariDataSource dataSource = new HikariDataSource();
  private final List<Long> shipped = new CopyOnWriteArrayList<>();
  private final List<Long> reports = new ArrayList<>();
  private final Meter meter = new Meter();

  private LockClient locks;

  @BeforeEach
  void open() throws SQLException {
    dataSource.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
    locks = JdbcLocks.builder(dataSource).schema(SchemaMode.CREATE).build();
    execute("CREATE TABLE item (id BIGINT PRIMARY KEY, price BIGINT, stock INT, token BIGINT)");
    execute("INSERT INTO item VALUES (42, 100, 10, 0)");
  }

  @AfterEach
  void close() {
    locks.close();
    dataSource.close();
  }

  @Test
  void everyday() throws Exception {
    DistributedLock lock = locks.get("orders/42");
    long order = 42;
    // tag::everyday[]
    lock.run(lease -> ship(order, lease.token())); // waits for as long as it takes

    boolean ran = lock.tryRun(lease -> ship(order, lease.token())); // false: taken, nothing ran

    try (Lease lease = lock.lockWithin(Duration.ofSeconds(2))) { // or a LockTimeoutException
      ship(order, lease.token()); // the token goes with the work, so that it can be checked
    }
    // end::everyday[]
    assertThat(ran).isTrue();
    assertThat(shipped).hasSize(3);
  }

  @Test
  void inOneLine() throws Exception {
    long order = 42;
    // tag::jdbc[]
    LockClient locks = JdbcLocks.builder(dataSource).build();
    locks.get("orders/42").run(lease -> ship(order, lease.token()));
    // end::jdbc[]
    locks.close();
    assertThat(shipped).hasSize(1);
  }

  @Test
  void busy() throws Exception {
    DistributedLock lock = locks.get("orders/42");
    long order = 42;
    // tag::busy[]
    boolean ran = lock.tryRun(lease -> ship(order, lease.token())); // false: taken, nothing ran

    Optional<Lease> perhaps = lock.tryLock(Duration.ofMillis(500)); // empty: it stayed taken
    if (perhaps.isPresent()) {
      try (Lease lease = perhaps.get()) {
        ship(order, lease.token());
      }
    }
    // end::busy[]
    assertThat(ran).isTrue();
    assertThat(shipped).hasSize(2);
  }

  @Test
  void nightly() throws Exception {
    // tag::nightly[]
    DistributedLock nightly =
        locks.get("nightly-report", LockOptions.defaults().withMinHold(Duration.ofSeconds(30)));
    boolean ran = nightly.tryRun(lease -> report()); // report's IOException passes through
    // end::nightly[]
    assertThat(ran).isTrue();
    assertThat(nightly.tryRun(lease -> report())).isFalse();
    assertThat(reports).hasSize(1);
  }

  @Test
  void fencedWrite() throws Exception {
    DistributedLock lock = locks.get("item/42");
    long price = 120;
    try (Connection connection = dataSource.getConnection()) {
      // tag::fenced[]
      try (Lease lease = lock.lock();
          PreparedStatement update = connection.prepareStatement(
              "UPDATE item SET price = ?, token = ? WHERE id = 42 AND token <= ?")) {
        update.setLong(1, price);
        update.setLong(2, lease.token());
        update.setLong(3, lease.token());
        Fenced.update(update); // no row has a token this old: StaleWriteException
      }
      // end::fenced[]
      execute("UPDATE item SET token = " + Long.MAX_VALUE);
      try (PreparedStatement update =
          connection.prepareStatement("UPDATE item SET price = 1 WHERE id = 42 AND token <= 1")) {
        assertThatThrownBy(() -> Fenced.update(update)).isInstanceOf(StaleWriteException.class);
      }
    }
    assertThat(number("SELECT price FROM item")).isEqualTo(120);
  }

  @Test
  void guardedTransaction() throws Exception {
    DistributedLock lock = locks.get("item/42");
    // tag::guarded[]
    try (Lease lease = lock.lock()) {
      JdbcGuard.inTransaction(lease, dataSource, tx -> {
        try (Statement statement = tx.createStatement()) {
          statement.executeUpdate("UPDATE item SET stock = stock - 1 WHERE id = 42");
        }
      });
    }
    // end::guarded[]
    assertThat(number("SELECT stock FROM item")).isEqualTo(9);
  }

  @Test
  void guardedTransactionInSeveralTries() throws Exception {
    DistributedLock lock = locks.get("item/42");
    // tag::guarded-tries[]
    try (Lease lease = lock.lock()) {
      int tries = 5;
      JdbcGuard.inTransaction(lease, dataSource, tries, tx -> {
        try (Statement statement = tx.createStatement()) {
          statement.executeUpdate("UPDATE item SET stock = stock - 1 WHERE id = 42");
        }
      });
    }
    // end::guarded-tries[]
    assertThat(number("SELECT stock FROM item")).isEqualTo(9);
  }

  @Test
  void guardInTheCallersTransaction() throws Exception {
    DistributedLock lock = locks.get("item/42");
    // tag::guard[]
    try (Lease lease = lock.lock();
        JdbcGuard guard = JdbcGuard.of(lease)) {
      try (Connection tx = dataSource.getConnection()) {
        tx.setAutoCommit(false);
        sell(tx);
        guard.verify(tx); // last: it throws if the lease is gone, and nothing is committed
        tx.commit();
      }
    }
    // end::guard[]
    assertThat(number("SELECT stock FROM item")).isEqualTo(9);
  }

  @Test
  void rowLock() throws Exception {
    try (Connection tx = dataSource.getConnection()) {
      // tag::transaction-lock[]
      TransactionLock rows = TransactionLock.create();
      tx.setAutoCommit(false);
      rows.lock(tx, "item/42"); // or: if (!rows.tryLock(tx, "item/42")) ...
      sell(tx);
      tx.commit(); // frees it
      // end::transaction-lock[]
    }
    assertThat(number("SELECT stock FROM item")).isEqualTo(9);
  }

  @Test
  void severalNames() throws Exception {
    // tag::several-names[]
    JointLock both = locks.all(List.of("accounts/7", "accounts/3"));
    try (JointLease lease = both.lockWithin(Duration.ofSeconds(2))) { // both, or neither
      ship(7, lease.token("accounts/7")); // each name has a token of its own
      ship(3, lease.token("accounts/3"));
    }
    // end::several-names[]
    assertThat(both.holders()).isEmpty();
  }

  @Test
  void readWrite() throws Exception {
    try (ReadWriteClient zooKeeperLocks = InMemoryLocks.builder().build()) {
      // tag::read-write[]
      DistributedReadWriteLock prices = zooKeeperLocks.readWrite("prices");
      try (ReadLease lease = prices.read().lock()) { // others may read at the same time
        cache(load(), lease.token()); // refused if a writer was there since
      }
      try (Lease lease = prices.write().lock()) { // nobody else reads or writes
        ship(1, lease.token());
      }
      // end::read-write[]
      assertThat(prices.write().inspect()).isEmpty();
    }
    assertThat(cachedToken).isPositive();
    assertThat(shipped).hasSize(1);
  }

  private long cachedToken;

  private void cache(String prices, long token) {
    assertThat(prices).isEqualTo("prices");
    cachedToken = token;
  }

  private static String load() {
    return "prices";
  }

  @Test
  void semaphore() throws Exception {
    try (SemaphoreClient redisLocks = InMemoryLocks.builder().build()) {
      // tag::semaphore[]
      DistributedSemaphore printers = redisLocks.semaphore("printers", 3);
      try (PermitLease lease = printers.lock()) { // or tryLock(), lockWithin(...), run(...)
        ship(lease.permit(), lease.token()); // permit 0, 1 or 2, and no other lease has it
      }
      // end::semaphore[]
      assertThat(printers.holders()).isEmpty();
    }
    assertThat(shipped).hasSize(1);
  }

  @Test
  void purge() throws Exception {
    locks.get("orders/42").run(lease -> ship(42, lease.token()));
    // tag::purge[]
    long deleted = JdbcLocks.builder(dataSource).purge(Duration.ofDays(7));
    // end::purge[]
    assertThat(deleted).isZero(); // used just now
  }

  @Test
  void metrics() throws Exception {
    // tag::metrics[]
    LockClient locks = JdbcLocks.builder(dataSource)
        .clientName("billing")
        .addListener(new LockListener() {
          @Override
          public void acquired(Acquired event) {
            meter.record("lock.wait", event.waited());
          }

          @Override
          public void lost(Lost event) {
            meter.count("lock.lost", event.loss().reason().name());
          }
        })
        .build();
    // end::metrics[]
    try (locks) {
      locks.get("item/42").run(lease -> assertThat(lease.isHeld()).isTrue());
      assertThat(meter.longest).containsOnlyKeys("lock.wait");
      assertThat(meter.counts).isEmpty();
    }
  }

  @Test
  void longWork() throws Exception {
    DistributedLock lock = locks.get("import");
    List<Long> pages = List.of(1L, 2L);
    // tag::loop[]
    try (Lease lease = lock.lock()) {
      lease.onLost(loss -> meter.count("import.lost", loss.reason().name()));
      for (long page : pages) {
        lease.ensureHeld(); // no I/O unless in doubt; throws LockLostException once it is gone
        ship(page, lease.token());
      }
    }
    // end::loop[]
    assertThat(shipped).hasSize(2);
  }

  @Test
  void manyThreads() throws Exception {
    List<Long> orders = List.of(1L, 2L, 3L);
    ExecutorService pool = Executors.newCachedThreadPool();
    try {
      // tag::pool[]
      // On JDK 21 and later: pool = Executors.newVirtualThreadPerTaskExecutor()
      List<Future<Long>> receipts = new ArrayList<>();
      for (long order : orders) {
        receipts.add(pool.submit(
            () -> locks.get("orders/" + order).call(lease -> ship(order, lease.token()))));
      }
      // end::pool[]
      for (Future<Long> receipt : receipts) {
        assertThat(receipt.get(10, TimeUnit.SECONDS)).isPositive();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void workThatEndsOnAnotherThread() throws Exception {
    CompletableFuture<Void> work = new CompletableFuture<>();
    Importer importer = token -> work;
    // tag::async[]
    DistributedLock lock =
        locks.get("import", LockOptions.defaults().withOwnership(Ownership.LEASE));
    Lease lease = lock.lockWithin(Duration.ofSeconds(5));
    CompletableFuture<Void> done;
    try {
      done = importer.start(lease.token());
    } catch (Throwable t) {
      lease.close();
      throw t;
    }
    CompletableFuture<Void> all =
        done.whenComplete((result, failure) -> lease.close()); // any thread
    // end::async[]
    assertThat(lock.tryLock()).isEmpty();
    work.complete(null);
    all.get(10, TimeUnit.SECONDS);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Test
  void detached() throws Exception {
    DistributedLock lock = locks.get("import");
    // tag::detach[]
    Lease lease = lock.lock().detach(); // this thread can no longer re-enter it; any may close it
    // end::detach[]
    assertThat(lock.tryLock()).isEmpty();
    CompletableFuture.runAsync(lease::close).get(10, TimeUnit.SECONDS);
    assertThat(lease.state()).isEqualTo(LeaseState.RELEASED);
  }

  @Test
  void administration() throws Exception {
    DistributedLock lock = locks.get("orders/42");
    Lease stuck = lock.lock();
    // tag::inspect[]
    lock.inspect()
        .ifPresent(holder -> System.out.println(holder.description() + " for " + holder.remaining()
            + " more, token " + holder.token()));
    // end::inspect[]
    long token = lock.inspect().orElseThrow().token();
    assertThat(lock.forceRelease(token - 1024)).isFalse();
    // tag::who-has-it[]
    for (HeldLock held : locks.list("orders/", 100)) {
      System.out.println(held.name() + " is held by " + held.description() + " for "
          + held.remaining() + " more, token " + held.token());
    }
    // end::who-has-it[]
    // tag::force-release[]
    boolean freed = locks.get("orders/42").forceRelease(token); // of the holder that was shown
    // end::force-release[]
    assertThat(freed).isTrue();
    assertThat(stuck.isHeld()).isFalse();
  }

  @Test
  void aWaitThatRunsOutNamesTheHolder() throws Exception {
    try (Lease held = locks.get("orders/42").lock();
        LockClient other = JdbcLocks.builder(dataSource).build()) {
      assertThatThrownBy(() -> other.get("orders/42").lockWithin(Duration.ofSeconds(1)))
          .isInstanceOf(LockTimeoutException.class)
          .hasMessageContaining("process " + ProcessHandle.current().pid());
      assertThat(held.isHeld()).isTrue();
    }
  }

  private interface Importer {
    CompletableFuture<Void> start(long token);
  }

  /** Stands for whatever the application measures with. */
  private static final class Meter {
    private final Map<String, Duration> longest = new ConcurrentHashMap<>();
    private final Map<String, Integer> counts = new ConcurrentHashMap<>();

    void record(String name, Duration duration) {
      longest.merge(name, duration, (a, b) -> a.compareTo(b) < 0 ? b : a);
    }

    void count(String name, String tag) {
      counts.merge(name + "/" + tag, 1, Integer::sum);
    }
  }

  private long ship(long order, long token) {
    shipped.add(order);
    return token;
  }

  private void report() throws IOException {
    reports.add(1L);
  }

  private static void sell(Connection tx) throws SQLException {
    try (Statement statement = tx.createStatement()) {
      statement.executeUpdate("UPDATE item SET stock = stock - 1 WHERE id = 42");
    }
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private long number(String sql) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getLong(1);
    }
  }
}
