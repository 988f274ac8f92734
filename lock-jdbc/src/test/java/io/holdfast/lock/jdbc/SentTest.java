package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Listing;
import io.holdfast.lock.jdbc.dialect.ReaderStatements;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * The statements that each call sends, as the file of its database has them. It is there to be
 * read, and so that no change of code changes what locks send without being seen.
 */
class SentTest {
  private static final Path FILES = Path.of("src/test/resources/io/holdfast/lock/jdbc/sent");

  @EachServer
  void eachCallSendsTheStatementsOfItsDatabasesFile(Server server) throws Exception {
    Sent sent = new Sent();
    try (HikariDataSource pool = server.pool(6)) {
      try (JdbcStore store = Stores.open(sent.recording(pool))) {
        locks(sent, store);
        line(sent, store);
        readers(sent, store);
        permits(sent, store);
        unusual(sent, store);
      }
      inTransactions(sent, pool);
    }
    try (HikariDataSource pool = server.pool(6, config -> config.setAutoCommit(false));
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                sent.recording(pool), JdbcLocks.DEFAULT_TABLE, SchemaMode.NONE, true, null),
            Stores.STORE_TIMEOUT)) {
      Claim claim = claim(Claims.freshKey());
      store.withdraw(claim);
      sent.by("Without autocommit: tryLock() of a new name", () -> store.tryAcquire(claim));
    }
    sent.check((server.isMariaDb() ? Server.MARIADB : server) + ".sql");
  }

  private static void locks(Sent sent, JdbcStore store) throws Exception {
    LockKey key = Claims.freshKey();
    Grant first =
        sent.by("tryLock() of a new name", () -> store.tryAcquire(claim(key)).orElseThrow());
    sent.by("tryLock() of a lock that is taken", () -> store.tryAcquire(claim(key)));
    sent.by(
        "close() within ten milliseconds",
        () -> sent.on(
            store,
            (c, dialect) -> dialect.release(c, Keys.stored(first.claim()), first.number(), 0)));
    Grant grant = sent.by(
        "tryLock() of a lock that is free", () -> store.tryAcquire(claim(key)).orElseThrow());
    Grant other = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
    sent.by("Renewal of a lease", () -> store.renew(List.of(grant)));
    sent.by("Renewal of two to eight leases", () -> store.renew(List.of(grant, other)));
    sent.by("extend()", () -> store.extend(grant, Claims.TTL));
    sent.by("verify()", () -> store.verify(grant));
    sent.by("inspect()", () -> store.inspect(key));
    sent.by("list()", () -> store.list(LockKind.MUTEX, key.name(), 10));
    sent.by(
        "The guard of a transaction",
        () -> sent.on(store, (c, dialect) -> dialect.guard(c, Keys.stored(grant.claim()), 1)));
    sent.by("forceRelease()", () -> store.forceRelease(key, grant.number()));
    sent.by("Release after an acquire without an answer", () -> {
      store.withdraw(other.claim());
      return true;
    });
  }

  private static void line(Sent sent, JdbcStore store) throws Exception {
    Grant queued = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
    Claim queuing = claim(queued.claim().key());
    Acquisition acquisition = sent.by(
        "lock() of a lock that is taken: joins the line",
        () -> store.acquireOrQueue(queuing, () -> {}));
    assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
    store.withdraw(queuing);

    // A waiter that nothing in the background keeps alive, or its row could be locked by that.
    Grant grant = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
    StoredClaim stored = Keys.stored(claim(grant.claim().key()));
    sent.on(store, (c, dialect) -> dialect.acquireOrAnnounce(c, stored));
    sent.on(store, (c, dialect) -> dialect.join(c, stored));
    sent.by(
        "A waiter's poll",
        () -> sent.on(store, (c, dialect) -> dialect.readStandings(c, List.of(stored))));
    sent.by(
        "A waiter's sign of life",
        () -> sent.on(store, (c, dialect) -> dialect.keepAlive(c, List.of(stored))));
    sent.by(
        "A waiter's announcement that somebody waits",
        () -> sent.on(store, (c, dialect) -> dialect.announce(c, List.of(stored.key()))));
    Await.pause(Duration.ofMillis(20));
    sent.by(
        "close() later than that, or while another waits",
        () -> store.release(grant, Duration.ZERO));
    sent.by(
        "The same if the first waiter's row is locked",
        () -> sent.on(
            store,
            (c, dialect) ->
                dialect.handOver(c, Keys.stored(grant.claim()), grant.number(), 0, true)));
    sent.by(
        "A waiter accepts the lock, or takes it",
        () -> sent.on(store, (c, dialect) -> dialect.take(c, stored, 1)));
    sent.by(
        "A waiter leaves the line",
        () -> sent.on(store, (c, dialect) -> dialect.leave(c, List.of(stored))));
  }

  private static void readers(Sent sent, JdbcStore store) throws Exception {
    LockKey key = Claims.freshKey();
    // For longer, so that there is nothing to write back when the other one leaves.
    Claim longer = Stores.readClaim(key, Claims.TTL.multipliedBy(10));
    Grant first =
        sent.by("tryLock() to read a new name", () -> store.tryAcquire(longer).orElseThrow());
    Grant grant = sent.by(
        "tryLock() to read", () -> store.tryAcquire(Stores.readClaim(key)).orElseThrow());
    Grant other = store.tryAcquire(Stores.readClaim(Claims.freshKey())).orElseThrow();
    sent.by("Renewal of two to eight that read", () -> store.renew(List.of(grant, other)));
    sent.by("extend() of one that reads", () -> store.extend(grant, Claims.TTL));
    sent.by("close() by a reader", () -> store.release(grant, Duration.ZERO));
    StoredClaim reading = Keys.stored(first.claim());
    sent.by(
        "The last reader hands the lock over if somebody waits",
        () -> sent.on(store, (c, dialect) -> dialect.handOver(c, reading, 0, 0, false)));
    Grant write = store.tryAcquire(claim(key)).orElseThrow();
    sent.by("tryLock() to read what is taken", () -> store.tryAcquire(Stores.readClaim(key)));
    Claim queuing = Stores.readClaim(key);
    sent.by(
        "lock() to read what is taken: joins the line",
        () -> store.acquireOrQueue(queuing, () -> {}));
    store.withdraw(queuing);
    store.withdraw(write.claim());
    Grant last = store.tryAcquire(Stores.readClaim(key)).orElseThrow();
    sent.by(
        "A list without those whose time is over",
        () -> sent.on(store, (c, dialect) -> {
          Row row = dialect.readRow(c, Keys.of(key)).orElseThrow();
          return new ReaderStatements(dialect).tidy(c, row);
        }));
    store.withdraw(last.claim());
    store.withdraw(other.claim());
  }

  private static void permits(Sent sent, JdbcStore store) throws Exception {
    LockKey key = new LockKey(LockKind.PERMIT, Claims.freshName());
    Claim claim = Stores.permitClaim(key, 3, Claims.TTL);
    Grant first =
        sent.by("A permit of a new semaphore", () -> store.tryAcquire(claim).orElseThrow());
    sent.by("close() of one that has a permit", () -> store.release(first, Duration.ZERO));
    Grant grant = sent.by(
        "A permit",
        () -> store.tryAcquire(Stores.permitClaim(key, 3, Claims.TTL)).orElseThrow());
    sent.by("holders()", () -> store.holders(key));
    sent.by(
        "The guard of a transaction",
        () -> sent.on(store, (c, dialect) -> dialect.guard(c, Keys.stored(grant.claim()), 1)));
    sent.by(
        "close() of one with a minimum hold", () -> store.release(grant, Duration.ofMinutes(1)));
    store.permits.guesses.noteFree(key.name(), ((PermitGrant) grant).permit());
    Grant next = sent.by(
        "A permit, after a wrong guess",
        () -> store.tryAcquire(Stores.permitClaim(key, 3, Claims.TTL)).orElseThrow());
    store.withdraw(next.claim());
  }

  private static void unusual(Sent sent, JdbcStore store) throws Exception {
    sent.by(
        "The line after its places were set back",
        () -> sent.on(store, (c, dialect) -> dialect.reopenLine(c, "m:none", 1)));
    sent.by(
        "build(): the trial of a waiter's rights",
        () -> sent.on(store, (c, dialect) -> {
          dialect.tryWaiting(c, Keys.stored(claim(Claims.freshKey())));
          return true;
        }));
    sent.by(
        "purge()",
        () -> sent.on(store, (c, dialect) -> {
          Listing listing = new Listing(dialect);
          listing.listUnused(c, "m:none", Duration.ofDays(999).toSeconds() * 1_000_000);
          listing.deleteUnused(c, List.of("m:none"), Duration.ofDays(999).toSeconds() * 1_000_000);
          return listing.deleteUnusedWaiters(c, Duration.ofDays(999).toSeconds() * 1_000_000);
        }));
  }

  private static void inTransactions(Sent sent, DataSource pool) throws Exception {
    TransactionLock locks = TransactionLock.create();
    String name = UUID.randomUUID().toString();
    try (Connection transaction = sent.recording(pool).getConnection()) {
      transaction.setAutoCommit(false);
      sent.by("TransactionLock: tryLock() of a new name", () -> locks.tryLock(transaction, name));
      transaction.commit();
      sent.by("TransactionLock: lock()", () -> {
        locks.lock(transaction, name);
        return true;
      });
      transaction.commit();
      sent.by("TransactionLock: tryLock()", () -> locks.tryLock(transaction, name));
      transaction.commit();
    }
  }

  /** The statements that this thread has sent, below what they were sent for. */
  private static final class Sent {
    private final Thread thread = Thread.currentThread();
    private final List<String> last = new ArrayList<>();
    private final StringBuilder all = new StringBuilder();

    private interface Step<T> {
      T run() throws Exception;
    }

    private interface Statement<T> {
      T on(Connection connection, Dialect dialect) throws SQLException;
    }

    <T> T by(String call, Step<T> step) throws Exception {
      last.clear();
      T result = step.run();
      all.append(all.isEmpty() ? "-- " : "\n-- ").append(call).append('\n');
      last.forEach(sql -> all.append('\n').append(sql.strip()).append(";\n"));
      return result;
    }

    <T> T on(JdbcStore store, Statement<T> statement) throws StoreException {
      Sessions.Call<T> call = c -> statement.on(c, store.database.dialect());
      return store.database.onPool(store.database.deadline(), call);
    }

    DataSource recording(DataSource pool) {
      return new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return recording(wrapped.getConnection());
        }
      };
    }

    private Connection recording(Connection connection) {
      return (Connection) Proxy.newProxyInstance(
          SentTest.class.getClassLoader(),
          new Class<?>[] {Connection.class},
          (proxy, method, arguments) -> {
            if (method.getName().equals("prepareStatement") && Thread.currentThread() == thread) {
              last.add((String) arguments[0]);
            }
            try {
              return method.invoke(connection, arguments);
            } catch (InvocationTargetException e) {
              throw e.getCause();
            }
          });
    }

    void check(String file) throws Exception {
      Path expected = FILES.resolve(file);
      Path seen = Path.of("target/sent", file);
      Files.createDirectories(seen.getParent());
      Files.writeString(seen, all);
      assertThat(seen)
          .as("If the change is meant, copy lock-jdbc/%s to lock-jdbc/%s", seen, expected)
          .hasSameTextualContentAs(expected);
    }
  }
}
