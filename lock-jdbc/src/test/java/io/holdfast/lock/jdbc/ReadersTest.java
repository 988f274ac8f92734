package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.ReaderRows;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Read locks on a database, beyond what the kit asks. */
@Tag("one-jdk")
@Timeout(120)
class ReadersTest {
  private static final Duration LONG_TTL = Duration.ofMinutes(5);

  /** A name, and the stores of several clients. */
  private static final class Clients implements AutoCloseable {
    final Server server;
    final String name = "test/" + UUID.randomUUID();
    final LockKey write = new LockKey(LockKind.MUTEX, name);
    final LockKey read = new LockKey(LockKind.READ, name);
    final List<JdbcStore> stores = new ArrayList<>();
    private final HikariDataSource pool;

    Clients(Server server, int clients) throws Exception {
      this.server = server;
      pool = server.pool(3 * clients + 2);
      for (int i = 0; i < clients; i++) {
        stores.add(Stores.open(pool));
      }
    }

    JdbcStore store(int client) {
      return stores.get(client);
    }

    Grant reads(int client) throws StoreException {
      return reads(client, LONG_TTL);
    }

    Grant reads(int client, Duration ttl) throws StoreException {
      return store(client).tryAcquire(Stores.claim(read, ttl)).orElseThrow();
    }

    Grant writes(int client) throws StoreException {
      return store(client).tryAcquire(Stores.claim(write)).orElseThrow();
    }

    void mayNot(int client, LockKey key) throws StoreException {
      assertThat(store(client).tryAcquire(Stores.claim(key)))
          .as("%s by another", key)
          .isEmpty();
    }

    void ends(int client, Grant grant) throws StoreException {
      assertThat(store(client).release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }

    long number(String row, String column) throws SQLException {
      try (Connection connection = server.connect();
          PreparedStatement statement =
              prepare(connection, row, "SELECT " + column + " FROM holdfast_lock WHERE name = ?");
          ResultSet result = statement.executeQuery()) {
        assertThat(result.next()).as("row %s", row).isTrue();
        return result.getLong(1);
      }
    }

    void set(String row, String set) throws SQLException {
      try (Connection connection = server.connect();
          PreparedStatement statement =
              prepare(connection, row, "UPDATE holdfast_lock SET " + set + " WHERE name = ?")) {
        assertThat(statement.executeUpdate()).isEqualTo(1);
      }
    }

    private PreparedStatement prepare(Connection connection, String row, String sql)
        throws SQLException {
      PreparedStatement statement = connection.prepareStatement(sql);
      if (server == Server.POSTGRES) {
        statement.setString(1, row);
      } else {
        statement.setBytes(1, row.getBytes(StandardCharsets.UTF_8));
      }
      return statement;
    }

    @Override
    public void close() {
      stores.forEach(JdbcStore::close);
      pool.close();
    }
  }

  /** A waiter, as the engine has it: it polls when it is woken. */
  private static final class Waiting {
    final Ticket ticket;
    private final Semaphore wakeUps;

    private Waiting(Ticket ticket, Semaphore wakeUps) {
      this.ticket = ticket;
      this.wakeUps = wakeUps;
    }

    static Waiting join(JdbcStore store, LockKey key) throws Exception {
      Semaphore wakeUps = new Semaphore(0);
      Acquisition acquisition = store.acquireOrQueue(Stores.claim(key, LONG_TTL), wakeUps::release);
      assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
      return new Waiting(((Acquisition.Queued) acquisition).ticket(), wakeUps);
    }

    Grant awaitGrant() throws Exception {
      while (true) {
        assertThat(wakeUps.tryAcquire(Stores.PATIENCE.toSeconds(), TimeUnit.SECONDS))
            .as("woken")
            .isTrue();
        Ticket.Status status = ticket.poll();
        if (status instanceof Ticket.Granted granted) {
          return granted.grant();
        }
        assertThat(status).isInstanceOf(Ticket.Waiting.class);
      }
    }

    void isKeptWaiting() throws Exception {
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
    }
  }

  @ParameterizedTest
  @EnumSource
  void readersShareTheLockAndExcludeTheWriter(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      Grant written = clients.writes(2);
      clients.mayNot(0, clients.read);
      clients.ends(2, written);

      Grant first = clients.reads(0);
      Grant second = clients.reads(1);
      Grant third = clients.reads(0);
      assertThat(first.number()).isGreaterThan(written.number());
      assertThat(second.number()).isGreaterThan(first.number());
      assertThat(third.number()).isGreaterThan(second.number());
      clients.mayNot(2, clients.write);
      assertThat(clients.store(2).holders(clients.write))
          .extracting(StoredHolder::number)
          .containsExactly(first.number(), second.number(), third.number());
      assertThat(clients.store(2).inspect(clients.read).orElseThrow().number())
          .isEqualTo(first.number());
      assertThat(clients.store(2).list(LockKind.MUTEX, clients.name, 10))
          .extracting(StoredLock::holder)
          .extracting(StoredHolder::number)
          .containsExactly(first.number());

      clients.ends(0, first);
      assertThat(clients.store(0).release(first, Duration.ZERO))
          .as("a second release")
          .isEqualTo(ReleaseOutcome.ALREADY_LOST);
      clients.store(0).withdraw(first.claim());
      clients.mayNot(2, clients.write);
      assertThat(clients.store(2).forceRelease(clients.write, first.number())).isFalse();
      assertThat(clients.store(2).forceRelease(clients.write, third.number())).isTrue();
      assertThat(clients.store(0).verify(third)).isEmpty();
      assertThat(clients.store(1).verify(second)).isPresent();
      clients.mayNot(2, clients.write);
      clients.ends(1, second);
      assertThat(clients.store(0).inspect(clients.read)).isEmpty();
      assertThat(clients.writes(2).number()).isGreaterThan(third.number());
    }
  }

  @ParameterizedTest
  @EnumSource
  void theLineIsOneForReadersAndWriters(Server server) throws Exception {
    try (Clients clients = new Clients(server, 6)) {
      Grant written = clients.writes(0);
      Waiting readsFirst = Waiting.join(clients.store(1), clients.read);
      Waiting readsToo = Waiting.join(clients.store(2), clients.read);
      Waiting writes = Waiting.join(clients.store(3), clients.write);
      Waiting readsLate = Waiting.join(clients.store(4), clients.read);
      clients.ends(0, written);

      Grant first = readsFirst.awaitGrant();
      Grant second = readsToo.awaitGrant();
      writes.isKeptWaiting();
      readsLate.isKeptWaiting();
      clients.mayNot(5, clients.read);
      clients.ends(1, first);
      writes.isKeptWaiting();
      clients.ends(2, second);

      Grant third = writes.awaitGrant();
      assertThat(third.number()).isGreaterThan(second.number());
      readsLate.isKeptWaiting();
      clients.mayNot(5, clients.read);
      clients.ends(3, third);
      Grant fourth = readsLate.awaitGrant();
      assertThat(fourth.number()).isGreaterThan(third.number());
      clients.ends(4, fourth);
      clients.ends(0, clients.writes(0));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReaderInLineEntersThoughAnotherBeforeItHasNotYet(Server server) throws Exception {
    try (Clients clients = new Clients(server, 6)) {
      Grant written = clients.writes(0);
      Waiting first = Waiting.join(clients.store(1), clients.read);
      Waiting slow = Waiting.join(clients.store(2), clients.read);
      Waiting quick = Waiting.join(clients.store(3), clients.read);
      Waiting writes = Waiting.join(clients.store(4), clients.write);
      Waiting late = Waiting.join(clients.store(5), clients.read);
      clients.ends(0, written);
      Grant entered = first.awaitGrant();

      Grant overtook = quick.awaitGrant();
      assertThat(overtook.number()).isGreaterThan(entered.number());
      late.isKeptWaiting();
      clients.mayNot(0, clients.read);
      clients.ends(1, entered);
      clients.ends(3, overtook);
      writes.isKeptWaiting();

      Grant last = slow.awaitGrant();
      assertThat(last.number()).isGreaterThan(overtook.number());
      writes.isKeptWaiting();
      late.isKeptWaiting();
      clients.ends(2, last);
      Grant third = writes.awaitGrant();
      assertThat(third.number()).isGreaterThan(last.number());
      clients.ends(4, third);
      clients.ends(5, late.awaitGrant());
      clients.ends(0, clients.writes(0));
    }
  }

  @ParameterizedTest
  @EnumSource
  void readersKeepNoReaderWaiting(Server server) throws Exception {
    try (Clients clients = new Clients(server, 4)) {
      Grant written = clients.writes(0);
      Waiting first = Waiting.join(clients.store(1), clients.read);
      Waiting slow = Waiting.join(clients.store(2), clients.read);
      clients.ends(0, written);
      Grant entered = first.awaitGrant();
      Grant came = clients.reads(3);
      clients.mayNot(0, clients.write);
      clients.ends(1, entered);
      clients.ends(3, came);
      Grant last = slow.awaitGrant();
      clients.ends(2, last);
      clients.ends(0, clients.writes(0));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReaderThatEnteredIsInTheLineNoMore(Server server) throws Exception {
    try (Clients clients = new Clients(server, 4)) {
      Grant written = clients.writes(0);
      Waiting first = Waiting.join(clients.store(1), clients.read);
      Waiting second = Waiting.join(clients.store(2), clients.read);
      clients.ends(0, written);
      Grant one = first.awaitGrant();
      Grant two = second.awaitGrant();
      String lock = Keys.of(clients.write);
      assertThat(clients.store(1).list(LockKind.MUTEX, clients.name, 1).get(0).waiting())
          .hasValue(0);
      clients.ends(1, one);
      clients.ends(2, two);
      assertThat(clients.number(lock, "expires_at")).as("handed to nobody").isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWriterThatGivesUpLetsTheReadersBehindItIn(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      Grant read = clients.reads(0);
      Waiting writes = Waiting.join(clients.store(1), clients.write);
      Waiting reads = Waiting.join(clients.store(2), clients.read);
      reads.isKeptWaiting();
      writes.ticket.close();
      Grant second = reads.awaitGrant();
      assertThat(clients.store(0).verify(read)).isPresent();
      clients.ends(0, read);
      clients.mayNot(1, clients.write);
      clients.ends(2, second);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReaderThatCrashedKeepsAWriterOutForItsOwnTimeOnly(Server server) throws Exception {
    Duration ttl = Duration.ofSeconds(3);
    try (Clients clients = new Clients(server, 3)) {
      Grant lasting = clients.reads(0);
      long begin = System.nanoTime();
      Grant crashed = clients.reads(1, ttl);
      Waiting writes = Waiting.join(clients.store(2), clients.write);
      assertThat(clients.store(0).renew(List.of(lasting)))
          .containsExactly(new Renewal.Renewed(LONG_TTL));
      clients.ends(0, lasting);

      Grant written = writes.awaitGrant();
      Duration waited = Duration.ofNanos(System.nanoTime() - begin);
      assertThat(waited).isGreaterThanOrEqualTo(ttl).isLessThan(ttl.plusSeconds(20));
      assertThat(clients.store(1).renew(List.of(crashed))).containsExactly(new Renewal.Lost());
      assertThat(clients.store(1).release(crashed, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.ALREADY_LOST);
      assertThat(clients.store(2).verify(written)).isPresent();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aLateReleaseFreesNothingOfLaterReadersEvenIfTheClockWasSetBack(Server server)
      throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      JdbcGrant late = (JdbcGrant) clients.reads(0);
      clients.ends(
          1, clients.reads(1)); // It comes back to that place, which is not the late one's.
      clients.set(late.key(), "expires_at = 1");
      clients.set(Keys.of(clients.write), "expires_at = 1");
      JdbcGrant other = (JdbcGrant) clients.reads(1);
      assertThat(other.key()).isNotEqualTo(late.key());
      clients.set(late.key(), "expires_at = " + clients.number(other.key(), "expires_at"));

      assertThat(clients.store(0).release(late, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.ALREADY_LOST);
      clients.mayNot(2, clients.write);
      assertThat(clients.store(1).verify(other)).isPresent();
    }
  }

  @ParameterizedTest
  @EnumSource
  void noReaderOutlastsTheRowByWhichOthersKnowThatTheLockIsTaken(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      Grant first = clients.reads(0, Duration.ofSeconds(20));
      Grant second = clients.reads(1, Duration.ofSeconds(40));
      assertThat(clients.number(((JdbcGrant) second).key(), "expires_at"))
          .isLessThanOrEqualTo(clients.number(Keys.of(clients.write), "expires_at"));
      for (int round = 0; round < 20; round++) {
        assertThat(clients.store(0).renew(List.of(first)))
            .containsExactly(new Renewal.Renewed(Duration.ofSeconds(20)));
        assertThat(clients.store(1).renew(List.of(second)))
            .containsExactly(new Renewal.Renewed(Duration.ofSeconds(40)));
        assertThat(
                clients.store(0).extend(first, Duration.ofSeconds(60 + round)).orElseThrow())
            .isGreaterThanOrEqualTo(Duration.ofSeconds(60 + round));
        long lock = clients.number(Keys.of(clients.write), "expires_at");
        assertThat(clients.number(((JdbcGrant) first).key(), "expires_at"))
            .isLessThanOrEqualTo(lock);
        assertThat(clients.number(((JdbcGrant) second).key(), "expires_at"))
            .isLessThanOrEqualTo(lock);
      }
      clients.ends(0, first);
      clients.ends(1, second);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aLockIsNotFreedIfAReaderEnteredSinceAllWereSeenToBeOver(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3);
        Connection connection = server.connect()) {
      JdbcGrant over = (JdbcGrant) clients.reads(0);
      clients.ends(1, clients.reads(1)); // It comes back to that place.
      String lock = Keys.of(clients.write);
      clients.set(over.key(), "expires_at = 1");
      long seen = clients.number(lock, "number");
      JdbcGrant entered = (JdbcGrant) clients.reads(1);
      assertThat(entered.key()).isNotEqualTo(over.key());

      ReaderRows rows = new ReaderRows(over.dialect());
      assertThat(rows.settle(connection, lock, seen, List.of(over.key()))).isFalse();
      assertThat(rows.handOver(connection, lock)).isFalse();
      clients.mayNot(2, clients.write);
      clients.set(entered.key(), "expires_at = 1");
      assertThat(
              rows.settle(connection, lock, entered.number(), List.of(over.key(), entered.key())))
          .isTrue();
      clients.ends(2, clients.writes(2));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aMinimumHoldOfAReaderKeepsWritersOutAndLetsReadersIn(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      Grant held = clients.reads(0);
      assertThat(clients.store(0).release(held, Duration.ofSeconds(4)))
          .isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(clients.store(1).inspect(clients.read).orElseThrow().released())
          .isTrue();
      clients.ends(1, clients.reads(1));
      clients.mayNot(2, clients.write);
      Waiting writes = Waiting.join(clients.store(2), clients.write);
      assertThat(writes.awaitGrant().number()).isGreaterThan(held.number());
      assertThat(clients.store(0).verify(held)).isEmpty();
    }
  }

  /** A client of an earlier version: it knows the lock's own row only. These are its statements. */
  private static final class Earlier implements AutoCloseable {
    private final Connection connection;
    private final Dialect dialect;
    private final Attempt attempt;

    Earlier(Clients clients) throws SQLException {
      connection = clients.server.connect();
      dialect = Dialect.of(connection, JdbcLocks.DEFAULT_TABLE);
      attempt = new Attempt(
          Keys.of(clients.write),
          UUID.randomUUID().toString().replace("-", ""),
          LONG_TTL.toNanos() / 1_000,
          "an earlier version");
    }

    long acquire() throws SQLException {
      long number = dialect.acquire(connection, attempt);
      return number == Dialect.NONE ? dialect.take(connection, attempt, Dialect.NO_PLACE) : number;
    }

    void join() throws SQLException {
      dialect.join(connection, attempt);
      dialect.announce(connection, List.of(attempt.key()));
    }

    long accept() throws SQLException {
      return dialect.accept(connection, attempt);
    }

    boolean release(long number) throws SQLException {
      return dialect.release(connection, attempt.key(), attempt.owner(), number, 0)
          || dialect.handOver(connection, attempt.key(), attempt.owner(), number, 0);
    }

    @Override
    public void close() throws SQLException {
      connection.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aClientOfAnEarlierVersionFindsALockTakenThatReadersHave(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2);
        Earlier earlier = new Earlier(clients)) {
      Grant first = clients.reads(0);
      assertThat(earlier.acquire()).isEqualTo(Dialect.NONE);
      Grant second = clients.reads(1);
      clients.ends(0, first);
      assertThat(earlier.acquire()).isEqualTo(Dialect.NONE);
      earlier.join();
      assertThat(earlier.accept()).isEqualTo(Dialect.NONE);
      clients.mayNot(0, clients.read);
      clients.ends(1, second);

      long number = earlier.accept();
      assertThat(number).as("handed over by the last reader").isGreaterThan(second.number());
      clients.mayNot(0, clients.read);

      Waiting reads = Waiting.join(clients.store(0), clients.read);
      assertThat(earlier.release(number)).isTrue();
      Grant third = reads.awaitGrant();
      assertThat(third.number()).isGreaterThan(number);
      assertThat(earlier.acquire()).isEqualTo(Dialect.NONE);
      assertThat(clients.store(0).verify(third)).isPresent();
      assertThat(clients.store(0).renew(List.of(third)))
          .containsExactly(new Renewal.Renewed(LONG_TTL));
      clients.ends(1, clients.reads(1));
      clients.ends(0, third);
      assertThat(earlier.acquire()).isGreaterThan(third.number());
    }
  }

  @ParameterizedTest
  @EnumSource
  void noWriterIsInsideWithAnybodyUnderLoad(Server server) throws Exception {
    int each = 3;
    int rounds = 25;
    String name = "test/" + UUID.randomUUID();
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    AtomicInteger together = new AtomicInteger();
    AtomicLong lastWrite = new AtomicLong();
    ExecutorService executor = Executors.newCachedThreadPool();
    try (HikariDataSource pool = server.pool(24)) {
      List<LockClient> all = new ArrayList<>();
      List<Future<Void>> running = new ArrayList<>();
      for (int i = 0; i < each; i++) {
        LockClient client = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        all.add(client);
        DistributedReadWriteLock lock = client.readWrite(name);
        Callable<Void> reads = () -> {
          for (int round = 0; round < rounds; round++) {
            try (Lease lease = lock.read().lock()) {
              together.accumulateAndGet(readers.incrementAndGet(), Math::max);
              assertThat(writers.get()).as("writers beside a reader").isZero();
              assertThat(lease.token()).isGreaterThan(lastWrite.get());
              Stores.pause(Duration.ofMillis(2));
              assertThat(writers.get()).as("writers beside a reader").isZero();
              readers.decrementAndGet();
            }
          }
          return null;
        };
        Callable<Void> writes = () -> {
          for (int round = 0; round < rounds; round++) {
            try (Lease lease = lock.write().lock()) {
              assertThat(writers.incrementAndGet()).as("writers").isEqualTo(1);
              assertThat(readers.get()).as("readers beside a writer").isZero();
              assertThat(lastWrite.getAndSet(lease.token())).isLessThan(lease.token());
              Stores.pause(Duration.ofMillis(1));
              assertThat(readers.get()).as("readers beside a writer").isZero();
              writers.decrementAndGet();
            }
          }
          return null;
        };
        running.add(executor.submit(reads));
        running.add(executor.submit(writes));
      }
      executor.shutdown();
      for (Future<Void> future : running) {
        future.get(100, TimeUnit.SECONDS);
      }
      all.forEach(LockClient::close);
    }
    assertThat(together.get()).as("readers at a time").isPositive();
  }

  @ParameterizedTest
  @EnumSource(names = {"H2", "POSTGRES"})
  void aGuardRefusesAReadLock(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        LockClient client = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        Lease lease = client.readWrite("test/" + UUID.randomUUID()).read().lock()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> JdbcGuard.open(lease).close())
          .withMessageContaining("write lock");
      lease.verify();
    }
  }
}
