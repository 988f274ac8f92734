package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The pessimistic and the optimistic way. */
class TransactionLockTest {
  private static final TransactionLock LOCKS = TransactionLock.create();

  /** Of connections that wait for a row for as long as the test lasts, as the servers' do. */
  private static HikariDataSource pool(Server server, int size) {
    return server.pool(size, config -> {
      if (server == Server.H2) {
        config.setConnectionInitSql("SET LOCK_TIMEOUT 60000");
      }
    });
  }

  @EachServer
  void aTransactionHasTheLockUntilItEnds(Server server) throws Exception {
    try (HikariDataSource pool = pool(server, 6)) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      for (boolean used : new boolean[] {false, true}) {
        String name = freshName(pool, used);
        try (Connection first = begin(pool);
            Connection second = begin(pool)) {
          LOCKS.lock(first, name);
          LOCKS.lock(first, name);
          assertThat(LOCKS.tryLock(first, name)).isTrue();
          if (used) {
            // One that waited would wait for ever: this thread has the lock.
            assertThat(LOCKS.tryLock(second, name)).isFalse();
          }
          assertThat(LOCKS.tryLock(second, freshName(pool, false))).isTrue();

          CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> lock(second, name));
          Await.pause(Duration.ofMillis(100));
          assertThat(waiting).isNotDone();
          first.commit();
          waiting.get(20, TimeUnit.SECONDS);
          second.rollback();
          assertThat(LOCKS.tryLock(first, name)).isTrue();
          first.rollback();
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = "POSTGRES")
  void aTryAtANameThatAnotherTransactionUsesForTheFirstTimeDoesNotWait(Server server)
      throws Exception {
    try (HikariDataSource pool = pool(server, 6)) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      String name = freshName(pool, false);
      try (Connection first = begin(pool);
          Connection second = begin(pool)) {
        LOCKS.lock(first, name);
        assertThat(LOCKS.tryLock(second, name)).isFalse();
        first.rollback();
        assertThat(LOCKS.tryLock(second, name)).isTrue();
        second.rollback();
      }
    }
  }

  /** By another process, so that this one can't know the name. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aNameThatThisProcessHasNotMetIsRefusedOnMySqlAfterAShortWait() throws Exception {
    try (HikariDataSource pool = pool(Server.MYSQL, 6);
        Connection transaction = begin(pool);
        Connection admin = Server.MYSQL.connect()) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      String name = freshName(pool, false);
      execute(
          admin,
          "INSERT INTO holdfast_lock"
              + " (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)"
              + " VALUES ('t:" + name + "', '', 0, 1, 0, 0, 0, 0, '')");
      admin.setAutoCommit(false);
      execute(admin, "UPDATE holdfast_lock SET guarded = 1 WHERE name = 't:" + name + "'");
      int waitBefore = lockWaitTimeout(transaction);

      long begin = System.nanoTime();
      assertThat(LOCKS.tryLock(transaction, name)).isFalse();
      assertThat(System.nanoTime() - begin).isLessThan(Duration.ofSeconds(10).toNanos());
      assertThat(lockWaitTimeout(transaction)).isEqualTo(waitBefore);
      admin.rollback();
      assertThat(LOCKS.tryLock(transaction, name)).isTrue();
      transaction.rollback();
    }
  }

  private static int lockWaitTimeout(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT @@innodb_lock_wait_timeout")) {
      result.next();
      return result.getInt(1);
    }
  }

  @EachServer
  void theCallersTransactionGoesOnWhetherItGotTheLockOrNot(Server server) throws Exception {
    try (HikariDataSource pool = pool(server, 6);
        Connection admin = server.connect()) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      String table = "account_" + UUID.randomUUID().toString().substring(0, 8);
      execute(admin, "CREATE TABLE " + table + " (id INT)");
      String name = freshName(pool, true);
      try (Connection first = begin(pool);
          Connection second = begin(pool)) {
        LOCKS.lock(first, name);
        execute(second, "INSERT INTO " + table + " VALUES (1)");
        assertThat(LOCKS.tryLock(second, name)).isFalse();
        execute(second, "INSERT INTO " + table + " VALUES (2)");
        second.commit();
        execute(first, "INSERT INTO " + table + " VALUES (3)");
        first.rollback();
      }
      try (Statement statement = admin.createStatement();
          var result = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
        result.next();
        assertThat(result.getInt(1)).isEqualTo(2);
      }
      execute(admin, "DROP TABLE " + table);
    }
  }

  @EachServer
  void manyTransactionsThatUseANameForTheFirstTimeFollowEachOther(Server server) throws Exception {
    int threads = 6;
    try (HikariDataSource pool = pool(server, threads + 2)) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      for (int round = 0; round < 5; round++) {
        String name = freshName(pool, false);
        CompletableFuture<?>[] all = new CompletableFuture<?>[threads];
        int[] unprotected = new int[1];
        for (int i = 0; i < threads; i++) {
          all[i] = CompletableFuture.runAsync(
              () -> {
                try (Connection transaction = begin(pool)) {
                  LOCKS.lock(transaction, name);
                  int before = unprotected[0];
                  Await.pause(Duration.ofMillis(2));
                  unprotected[0] = before + 1;
                  transaction.commit();
                } catch (SQLException e) {
                  throw new AssertionError(e);
                }
              },
              task -> new Thread(task).start());
        }
        CompletableFuture.allOf(all).get(30, TimeUnit.SECONDS);
        assertThat(unprotected[0]).isEqualTo(threads);
      }
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aNewNameThatATransactionHasKeepsNobodyFromTheirOwnNewNames(Server server) throws Exception {
    try (HikariDataSource pool = pool(server, 8);
        LockClient locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
      try (Connection first = begin(pool);
          Connection second = begin(pool)) {
        String name = freshName(pool, false);
        assertThat(LOCKS.tryLock(first, name)).isTrue();
        // On both sides of it, and of all others.
        for (String other : List.of("!" + name, name + "!", "~" + name)) {
          assertThat(LOCKS.tryLock(second, other)).isTrue();
          try (Lease lease = locks.get(other).tryLock().orElseThrow()) {
            lease.verify();
          }
        }
        second.rollback();
        first.rollback();
      }
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void newNamesThatAreLockedAtTheSameTimeDoNotCollide(Server server) throws Exception {
    try (HikariDataSource pool = pool(server, 4)) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      CyclicBarrier barrier = new CyclicBarrier(2);
      List<CompletableFuture<Void>> both = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        both.add(CompletableFuture.runAsync(
            () -> {
              for (int round = 0; round < 50; round++) {
                try (Connection transaction = begin(pool)) {
                  String name = freshName(pool, false);
                  barrier.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                  assertThat(LOCKS.tryLock(transaction, name)).isTrue();
                  barrier.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                  transaction.commit();
                } catch (Exception e) {
                  throw new AssertionError(e);
                }
              }
            },
            task -> new Thread(task).start()));
      }
      for (CompletableFuture<Void> one : both) {
        one.get(60, TimeUnit.SECONDS);
      }
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aNameThatWasUsedLatelyIsNotPurged(Server server) throws Exception {
    try (HikariDataSource pool = pool(server, 6);
        Connection admin = server.connect()) {
      String table = "used_" + UUID.randomUUID().toString().substring(0, 8);
      JdbcLocks.Builder builder = JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE);
      builder.build().close();
      TransactionLock locks = TransactionLock.inTable(table);
      try (Connection transaction = begin(pool)) {
        for (int round = 0; round < 2; round++) {
          locks.lock(transaction, "locked");
          assertThat(locks.tryLock(transaction, "tried")).isTrue();
          locks.lock(transaction, "unused " + round);
          transaction.commit();
          if (round == 0) {
            execute(
                admin,
                "UPDATE " + table + " SET changed_at = changed_at - 7200000000"
                    + " WHERE changed_at > 0");
          }
        }
      }
      // The unused one, and the row of the trial at build().
      assertThat(builder.purge(Duration.ofHours(1))).isEqualTo(2);
      execute(admin, "DROP TABLE " + table);
    }
  }

  @EachServer
  void whatIsReadAfterTheLockIsCurrentWhateverTheIsolation(Server server) throws Exception {
    int threads = 4;
    int writesEach = 10;
    try (HikariDataSource pool = pool(server, threads + 2);
        Connection admin = server.connect()) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      String table = "account_" + UUID.randomUUID().toString().substring(0, 8);
      execute(admin, "CREATE TABLE " + table + " (id INT PRIMARY KEY, balance INT)");
      execute(admin, "INSERT INTO " + table + " VALUES (1, 0)");
      String name = freshName(pool, true);
      CompletableFuture<?>[] all = new CompletableFuture<?>[threads];
      for (int i = 0; i < threads; i++) {
        boolean tries = i % 2 == 0;
        all[i] = CompletableFuture.runAsync(
            () -> {
              for (int write = 0; write < writesEach; write++) {
                while (!addOne(pool, table, name, tries)) {
                  Thread.onSpinWait();
                }
              }
            },
            task -> new Thread(task).start());
      }
      CompletableFuture.allOf(all).get(40, TimeUnit.SECONDS);
      assertThat(balance(admin, table)).isEqualTo(threads * writesEach);
      execute(admin, "DROP TABLE " + table);
    }
  }

  /** Reads and writes the balance in two steps; false: not the lock, or refused by the database. */
  private static boolean addOne(HikariDataSource pool, String table, String name, boolean tries) {
    try (Connection transaction = begin(pool)) {
      try {
        transaction.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        if (tries) {
          if (!LOCKS.tryLock(transaction, name)) {
            transaction.rollback();
            return false;
          }
        } else {
          LOCKS.lock(transaction, name);
        }
        int balance = balance(transaction, table);
        execute(transaction, "UPDATE " + table + " SET balance = " + (balance + 1));
        transaction.commit();
        return true;
      } catch (SQLException e) {
        transaction.rollback();
        return false;
      }
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  private static int balance(Connection connection, String table) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT balance FROM " + table)) {
      result.next();
      return result.getInt(1);
    }
  }

  @Test
  @Timeout(30)
  void aTransactionThatCanNotSeeTheRowIsRefusedOnH2() throws Exception {
    String name = UUID.randomUUID().toString();
    try (HikariDataSource pool = Server.H2.pool(6);
        Connection old = begin(pool);
        Connection other = begin(pool)) {
      JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close();
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      execute(old, "SELECT * FROM holdfast_lock");
      LOCKS.lock(other, name);
      other.commit();

      assertThatThrownBy(() -> LOCKS.lock(old, name)).isInstanceOf(SQLException.class);
    }
  }

  @Test
  void itsNamesAreApartFromThoseOfLeases() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(6);
        LockClient locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        Connection transaction = begin(pool)) {
      String name = freshName(pool, false);
      LOCKS.lock(transaction, name);
      try (Lease lease = locks.get(name).tryLock().orElseThrow()) {
        lease.verify();
      }
      transaction.rollback();
    }
  }

  @Test
  void misuseIsToldAtOnce() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(2);
        Connection connection = pool.getConnection()) {
      assertThatThrownBy(() -> LOCKS.lock(connection, "a"))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false)");
      assertThatThrownBy(() -> LOCKS.tryLock(connection, ""))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @EachServer
  void aStaleWriterIsRefused(Server server) throws Exception {
    try (Connection connection = server.connect()) {
      String table = "item_" + UUID.randomUUID().toString().substring(0, 8);
      execute(connection, "CREATE TABLE " + table + " (id INT, price INT, token BIGINT)");
      execute(connection, "INSERT INTO " + table + " VALUES (42, 1, 0)");
      try (PreparedStatement update = connection.prepareStatement(
          "UPDATE " + table + " SET price = ?, token = ? WHERE id = 42 AND token <= ?")) {
        assertThat(write(update, 10, 100)).isEqualTo(1);
        assertThat(write(update, 12, 120)).isEqualTo(1);
        assertThatThrownBy(() -> write(update, 11, 110)).isInstanceOf(StaleWriteException.class);
        assertThat(write(update, 13, 120)).isEqualTo(1);
      }
      execute(connection, "DROP TABLE " + table);
    }
  }

  private static int write(PreparedStatement update, int price, long token) throws SQLException {
    update.setInt(1, price);
    update.setLong(2, token);
    update.setLong(3, token);
    return Fenced.update(update);
  }

  private static void lock(Connection transaction, String name) {
    try {
      LOCKS.lock(transaction, name);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  /** A name whose row exists already, or not. */
  private static String freshName(HikariDataSource pool, boolean used) throws SQLException {
    String name = Claims.freshKey().name();
    if (used) {
      try (Connection transaction = begin(pool)) {
        LOCKS.lock(transaction, name);
        transaction.commit();
      }
    }
    return name;
  }

  private static Connection begin(HikariDataSource pool) throws SQLException {
    Connection connection = pool.getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
