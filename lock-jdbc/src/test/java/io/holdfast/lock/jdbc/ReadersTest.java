package io.holdfast.lock.jdbc;

import static io.holdfast.lock.jdbc.Stores.readClaim;
import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Readers are a list in the row of their lock. */
class ReadersTest {
  private static final Duration LONG_TTL = Duration.ofMinutes(5);
  private static final Duration SHORT_TTL = Duration.ofSeconds(3);

  private final LockKey key = freshKey();

  private static void release(JdbcStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private List<Long> numbers(JdbcStore store) throws StoreException {
    return store.readers(key).stream().map(StoredHolder::number).toList();
  }

  private static List<Long> numbers(List<Grant> grants) {
    return grants.stream().map(Grant::number).toList();
  }

  /** The end of the lock itself, from now. */
  private Duration lockedFor(Server server) {
    return Duration.ofNanos(TimeUnit.MICROSECONDS.toNanos(Stores.number(
        server,
        key,
        "SELECT expires_at - (" + Stores.in(server, Duration.ZERO)
            + ") FROM holdfast_lock WHERE name = ?")));
  }

  /** Whatever is in a list, no statement touches the entry of another. */
  @EachServer
  void theListHasThoseWhoReadAndNobodyElseInAnyOrderOfTheirSteps(Server server) throws Exception {
    Random random = new Random(5);
    try (Clients clients = new Clients(server, 2)) {
      List<Grant> reading = new ArrayList<>();
      long last = 0;
      for (int step = 0; step < 80; step++) {
        JdbcStore store = clients.stores.get(random.nextInt(2));
        Duration ttl = Duration.ofSeconds(60 + random.nextInt(600));
        int which = reading.isEmpty() ? 0 : random.nextInt(reading.size());
        int kind = reading.isEmpty() ? 0 : random.nextInt(5);
        if (kind < 2) {
          Grant grant = store.tryAcquire(readClaim(key, ttl)).orElseThrow();
          assertThat(grant.number()).isGreaterThan(last);
          last = grant.number();
          reading.add(grant);
        } else if (kind == 2) {
          release(store, reading.remove(which));
        } else if (kind == 3) {
          List<Renewal> renewed = store.renew(reading.stream().toList());
          assertThat(renewed)
              .isEqualTo(reading.stream()
                  .map(grant -> new Renewal.Renewed(grant.claim().ttl()))
                  .toList());
        } else {
          Duration longer = ttl.multipliedBy(2);
          assertThat(store.extend(reading.get(which), longer).orElseThrow())
              .isGreaterThanOrEqualTo(longer);
        }
        assertThat(numbers(store)).containsExactlyInAnyOrderElementsOf(numbers(reading));
        assertNobodyHasMoreTimeThanTheLock(server, store);
        assertThat(store.tryAcquire(claim(key)).isEmpty()).isEqualTo(!reading.isEmpty());
        if (reading.isEmpty()) {
          Stores.update(
              server, key, "UPDATE holdfast_lock SET owner = '', expires_at = 1 WHERE name = ?");
        }
      }
      for (StoredHolder holder : clients.stores.get(0).readers(key)) {
        assertThat(holder.description()).isEqualTo("r\u00e9ader $1 \\1, of a test");
        assertThat(holder.since())
            .isBetween(Instant.now().minusSeconds(600), Instant.now().plusSeconds(600));
      }
    }
  }

  private long readersInLine(Server server) throws SQLException {
    return Stores.number(
        server,
        key,
        "SELECT COUNT(*) FROM holdfast_lock_waiter w JOIN holdfast_lock l ON l.name = w.name"
            + " WHERE w.mode = 'r' AND w.place > l.served AND w.name = ?");
  }

  /** An older client looks at the end of the lock only. */
  private void assertNobodyHasMoreTimeThanTheLock(Server server, JdbcStore store)
      throws StoreException {
    Optional<Duration> longest =
        store.readers(key).stream().map(StoredHolder::remaining).max(Comparator.naturalOrder());
    if (longest.isPresent()) {
      // The lock's time is read later.
      assertThat(lockedFor(server)).isGreaterThan(longest.get().minusSeconds(20));
    }
  }

  @EachServer
  void readersBehindAWriterEnterWithItsReleaseAndLeaveNoPlaceBehind(Server server)
      throws Exception {
    try (Clients clients = new Clients(server, 4)) {
      JdbcStore writer = clients.stores.get(0);
      Grant write = writer.tryAcquire(claim(key)).orElseThrow();
      List<Waiting> readers = new ArrayList<>();
      for (JdbcStore store : clients.stores.subList(1, 4)) {
        readers.add(Waiting.join(store, readClaim(key)));
      }
      Waiting behind = Waiting.join(writer, claim(key));
      release(writer, write);

      List<Grant> reading = new ArrayList<>();
      for (Waiting reader : readers) {
        reading.add(reader.awaitEntry());
      }
      assertThat(readersInLine(server)).isZero();
      assertThat(reading).allMatch(grant -> grant.number() > write.number());
      assertThat(numbers(writer)).containsExactlyInAnyOrderElementsOf(numbers(reading));
      assertThat(clients.stores.get(1).tryAcquire(readClaim(key)))
          .as("a reader behind the writer that waits")
          .isEmpty();
      // The last that entered leaves first, and the lock is handed over to the writer, not to a
      // place that one of them has left in the line.
      for (int i = 2; i >= 0; i--) {
        release(clients.stores.get(i + 1), reading.get(i));
      }
      Grant next = behind.awaitEntry();
      assertThat(next.number()).isGreaterThan(reading.get(2).number());
      release(writer, next);
      assertThat(writer.inspect(key)).isEmpty();
    }
    Await.until("nobody is in the table", () -> Stores.waitersInTable(server, key) == 0);
  }

  @EachServer
  void aReaderThatIsHandedTheLockDoesNotKeepTheOthersWaiting(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      Grant write = clients.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting silent = Waiting.join(clients.stores.get(1), readClaim(key));
      Waiting reader = Waiting.join(clients.stores.get(2), readClaim(key));
      release(clients.stores.get(0), write);

      Grant beside = reader.awaitEntry();
      assertThat(numbers(clients.stores.get(0))).hasSize(2).contains(beside.number());
      Grant accepted = silent.awaitEntry();
      assertThat(clients.stores.get(1).renew(List.of(accepted)))
          .containsExactly(new Renewal.Renewed(accepted.claim().ttl()));
      release(clients.stores.get(1), accepted);
      release(clients.stores.get(2), beside);
    }
  }

  @EachServer
  void aReaderThatAsksForWhatItWasHandedHasItForItsWholeTtl(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      Grant write = clients.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      JdbcStore store = clients.stores.get(1);
      Waiting reader = Waiting.join(store, readClaim(key, LONG_TTL));
      release(clients.stores.get(0), write);

      Grant grant = reader.awaitGrant();

      assertThat(grant.validFor()).isEqualTo(LONG_TTL);
      assertThat(store.verify(grant).orElseThrow()).isGreaterThan(Duration.ofMinutes(4));
      release(store, grant);
    }
  }

  /** Its client gives up, and nothing that is still at the server lets it in afterwards. */
  @EachRealServer
  @Execution(ExecutionMode.CONCURRENT)
  void aReaderThatCouldNotEnterIsNotInsideWhenTheRowIsFree(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2);
        Connection other = server.connect()) {
      JdbcStore store = clients.stores.get(0);
      Grant read = store.tryAcquire(readClaim(key)).orElseThrow();
      other.setAutoCommit(false);
      lockRow(other, server, key);
      Claim late = readClaim(key);
      assertThatThrownBy(() -> clients.stores.get(1).tryAcquire(late))
          .isInstanceOfSatisfying(StoreException.class, ReadersTest::assertAnswered);
      other.rollback();

      Await.pause(Duration.ofSeconds(3));
      assertThat(numbers(store)).containsExactly(read.number());
      release(store, read);
    }
  }

  /** A statement that is not answered in time costs its connection. */
  private static void assertAnswered(StoreException failure) {
    assertThat(failure).returns(false, StoreException::mayHaveHappened);
  }

  @EachRealServer
  @Execution(ExecutionMode.CONCURRENT)
  void readersWhoseRowsStayLockedCostNoOtherItsRenewalAndNoConnection(Server server)
      throws Exception {
    try (Clients clients = new Clients(server, 1);
        Connection other = server.connect()) {
      JdbcStore store = clients.stores.get(0);
      other.setAutoCommit(false);
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        LockKey stuck = freshKey();
        grants.add(store.tryAcquire(readClaim(stuck)).orElseThrow());
        lockRow(other, server, stuck);
      }
      grants.add(store.tryAcquire(readClaim(freshKey())).orElseThrow());
      grants.add(store.tryAcquire(claim(freshKey())).orElseThrow());
      growOld();

      List<Renewal> renewed = store.renew(grants);

      assertThat(renewed.subList(0, 3)).allSatisfy(renewal -> {
        assertThat(renewal).isInstanceOf(Renewal.Unknown.class);
        assertAnswered((StoreException) ((Renewal.Unknown) renewal).cause());
      });
      Renewal whole = new Renewal.Renewed(grants.get(0).claim().ttl());
      assertThat(renewed.subList(3, 5)).containsOnly(whole);
      assertThatThrownBy(() -> store.extend(grants.get(0), LONG_TTL))
          .isInstanceOfSatisfying(StoreException.class, ReadersTest::assertAnswered);
      other.rollback();
      assertThat(store.renew(grants)).containsOnly(whole);
    }
  }

  /** Waits until grants have clearly less time than their TTL, so that a renewal has work to do. */
  private static void growOld() {
    Await.pause(Duration.ofMillis(100));
  }

  private static void lockRow(Connection transaction, Server server, LockKey key)
      throws SQLException {
    try (PreparedStatement lock = Stores.prepare(
        transaction, server, key, "SELECT number FROM holdfast_lock WHERE name = ? FOR UPDATE")) {
      lock.executeQuery().close();
    }
  }

  /** Those who enter and leave can have the row locked nearly all the time. */
  @EachRealServer
  void aReaderIsRenewedThoughItsRowIsLockedAtTheFirstTries(Server server) throws Exception {
    AtomicInteger lockedTries = new AtomicInteger(-1);
    try (HikariDataSource pool = server.pool(5);
        Connection other = server.connect();
        JdbcStore store = Stores.open(new Wrapper(pool) {
          @Override
          public Connection getConnection() throws SQLException {
            if (lockedTries.getAndDecrement() == 0) { // -1: not now, nor any more.
              other.rollback();
            }
            return wrapped.getConnection();
          }
        })) {
      other.setAutoCommit(false);
      Grant read = store.tryAcquire(readClaim(key)).orElseThrow();
      lockRow(other, server, key);
      growOld();
      lockedTries.set(10);

      assertThat(store.renew(List.of(read)))
          .containsExactly(new Renewal.Renewed(read.claim().ttl()));
      assertThat(lockedTries).hasNegativeValue();
    }
  }

  @EachServer
  void aWriterThatGivesUpLetsReadersInAndSoDoesOneThatDied(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      Grant read = clients.stores.get(0).tryAcquire(readClaim(key)).orElseThrow();
      Waiting writer = Waiting.join(clients.stores.get(1), claim(key));
      Waiting reader = Waiting.join(clients.stores.get(2), readClaim(key));
      writer.ticket.close();
      Grant entered = reader.awaitEntry();

      Stores.update(
          server,
          key,
          "INSERT INTO holdfast_lock_waiter (name, owner, alive_until, holder) VALUES (?, 'dead', "
              + Stores.in(server, Duration.ofSeconds(2))
              + ", 'a writer who died')");
      assertThat(clients.stores.get(1).tryAcquire(readClaim(key))).isEmpty();
      Waiting behind = Waiting.join(clients.stores.get(1), readClaim(key));
      release(clients.stores.get(1), behind.awaitEntry());
      release(clients.stores.get(2), entered);
      release(clients.stores.get(0), read);
    }
  }

  @EachServer
  void aReaderThatLeavesTakesItsTimeWithIt(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      Grant longer = store.tryAcquire(readClaim(key, LONG_TTL)).orElseThrow();
      Grant shorter = store.tryAcquire(readClaim(key, Duration.ofSeconds(60))).orElseThrow();
      release(store, longer);
      assertThat(lockedFor(server)).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(60));
      release(store, shorter);
      assertThat(store.tryAcquire(claim(key))).isPresent();
    }
  }

  @EachServer
  void theLastThatLivesLeavesALockThatIsFreeIfTheOthersAreDead(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      Grant living = store.tryAcquire(readClaim(key, LONG_TTL)).orElseThrow();
      Grant dead = store.tryAcquire(readClaim(key, SHORT_TTL)).orElseThrow();
      assertThat(clients.stores.get(1).tryAcquire(claim(key))).isEmpty();
      Await.until("it is dead", () -> {
        try {
          return numbers(store).equals(List.of(living.number()));
        } catch (StoreException e) {
          throw new AssertionError(e);
        }
      });
      assertThat(store.renew(List.of(dead))).containsExactly(new Renewal.Lost());
      assertThat(store.extend(dead, LONG_TTL)).isEmpty();
      assertThat(store.verify(dead)).isEmpty();

      release(store, living);

      assertThat(clients.stores.get(1).tryAcquire(claim(key))).isPresent();
    }
  }

  @EachServer
  void aWriterThatWaitsEndsTheTimeOfReadersThatDied(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      Grant unused = store.tryAcquire(readClaim(key, SHORT_TTL)).orElseThrow();
      // As if one with more time had left, and its client had died before it saw to that.
      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET expires_at = " + Stores.in(server, LONG_TTL)
              + " WHERE name = ?");
      Grant write = Waiting.join(clients.stores.get(1), claim(key)).awaitEntry();
      release(clients.stores.get(1), write);
    }
  }

  @EachServer
  void whereThereIsNoRoomAReaderWaitsUntilThereIs(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      Grant read = store.tryAcquire(readClaim(key, LONG_TTL)).orElseThrow();
      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET readers = CONCAT(readers, " + anEntry(99_999)
              + ", ';') WHERE name = ?");
      assertThat(store.tryAcquire(readClaim(key))).isEmpty();
      Waiting waiting = Waiting.join(clients.stores.get(1), readClaim(key));
      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET readers = SUBSTRING(readers FROM 1 FOR CHAR_LENGTH(readers) - 100000)"
              + " WHERE name = ?");
      release(clients.stores.get(1), waiting.awaitEntry());
      release(store, read);
    }
  }

  /** An entry of this length, whose time is not over. */
  private static String anEntry(int length) {
    return "CONCAT('0123456789abcdef0123456789abcdef', '90000000000000001000000000000000', REPEAT('x', "
        + (length - 64)
        + "))";
  }

  /** A client of a release that knew no readers takes them for writers. */
  @EachServer
  void aReaderToWhichAnOlderClientHandsTheLockHasItAlone(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      JdbcStore store = clients.stores.get(0);
      Grant write = store.tryAcquire(claim(key)).orElseThrow();
      Claim first = readClaim(key);
      Waiting reader = Waiting.join(clients.stores.get(1), first);
      Waiting other = Waiting.join(clients.stores.get(2), readClaim(key));
      Stores.update(
          server,
          key,
          ("UPDATE holdfast_lock SET owner = '%s', number = number + 1, expires_at = %s,"
                  + " served = (SELECT place FROM holdfast_lock_waiter WHERE owner = '%s')"
                  + " WHERE name = ?")
              .formatted(
                  first.ownerId(), Stores.in(server, Duration.ofSeconds(5)), first.ownerId()));
      assertThat(store.verify(write)).isEmpty();

      Grant alone = reader.awaitEntry();
      assertThat(alone.number()).isEqualTo(write.number() + 1);
      assertThat(clients.stores.get(1).renew(List.of(alone)))
          .containsExactly(new Renewal.Renewed(alone.claim().ttl()));
      assertThat(clients.stores.get(1).verify(alone)).isPresent();
      assertThat(store.tryAcquire(readClaim(key))).isEmpty();

      release(clients.stores.get(1), alone);
      release(clients.stores.get(2), other.awaitEntry());
    }
  }

  @EachServer
  void whatIsWithdrawnIsNoLongerInTheListNorInTheLine(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      Grant read = store.tryAcquire(readClaim(key)).orElseThrow();
      Grant other = store.tryAcquire(readClaim(key)).orElseThrow();
      store.withdraw(read.claim());
      store.withdraw(read.claim());
      assertThat(numbers(store)).containsExactly(other.number());
      assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
      store.withdraw(other.claim());
      assertThat(store.list(LockKind.MUTEX, key.name(), 10)).isEmpty();
      assertThat(store.tryAcquire(claim(key))).isPresent();
    }
  }

  @Test
  void theDriverMayLeaveThePostgresServerToFindOutWhatIsAText() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(
            4, config -> config.addDataSourceProperty("stringtype", "unspecified"));
        JdbcStore store = Stores.open(pool)) {
      Grant first = store.tryAcquire(readClaim(key)).orElseThrow();
      Grant second = store.tryAcquire(readClaim(key)).orElseThrow();
      assertThat(store.renew(List.of(first, second)))
          .containsOnly(new Renewal.Renewed(first.claim().ttl()));
      assertThat(store.extend(first, LONG_TTL)).isPresent();
      release(store, first);
      release(store, second);
    }
  }

  @EachServer
  @Timeout(180)
  void manyWhoReadAndWriteAtOnceAreNeverInsideTogether(Server server) throws Exception {
    int threads = 4;
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    try (Clients clients = new Clients(server, threads)) {
      ExecutorService executor = Executors.newFixedThreadPool(threads);
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        JdbcStore store = clients.stores.get(thread);
        boolean writes = thread == 0;
        all.add(executor.submit(() -> {
          for (int round = 0; round < 20; round++) {
            Grant grant = Waiting.acquire(store, writes ? () -> claim(key) : () -> readClaim(key));
            (writes ? writers : readers).incrementAndGet();
            assertThat(writers.get()).isLessThanOrEqualTo(1);
            assertThat(writers.get() > 0 && readers.get() > 0).as("both").isFalse();
            (writes ? writers : readers).decrementAndGet();
            release(store, grant);
          }
          return threads;
        }));
      }
      for (Future<?> one : all) {
        assertThatCode(() -> one.get(150, TimeUnit.SECONDS)).doesNotThrowAnyException();
      }
      executor.shutdown();
      assertThat(clients.stores.get(0).inspect(key)).isEmpty();
    }
  }
}
