package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Those who wait for a lock stand in a line that the database keeps. */
class LineTest {
  private static final Duration LONG_TTL = Duration.ofMinutes(5);

  @EachServer
  void aReleaseHandsTheLockToTheOneThatWaitsLongestAndNumbersRise(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 4)) {
      Grant last = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      List<Waiting> waiting = new ArrayList<>();
      for (int i = 1; i < 4; i++) {
        waiting.add(Waiting.join(line.stores.get(i), claim(key)));
      }
      // Who released it comes again at once, and is the last.
      assertThat(line.stores.get(0).release(last, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      waiting.add(Waiting.join(line.stores.get(0), claim(key)));

      for (int i = 0; i < 4; i++) {
        Grant grant = waiting.get(i).awaitGrant();
        assertThat(grant.number()).isGreaterThan(last.number());
        assertThat(line.stores.get((i + 1) % 4).verify(grant)).isPresent();
        last = grant;
        assertThat(line.stores.get((i + 1) % 4).release(last, Duration.ZERO))
            .isEqualTo(ReleaseOutcome.RELEASED);
      }
      assertThat(line.stores.get(0).inspect(key)).isEmpty();
    }
    Await.until("nobody is in the table", () -> Stores.waitersInTable(server, key) == 0);
  }

  @EachServer
  void aLockThatIsWaitedForIsNotTakenByNewcomers(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting waiting = Waiting.join(line.stores.get(1), claim(key));
      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);

      assertThat(line.stores.get(0).tryAcquire(claim(key))).isEmpty();

      assertThat(waiting.awaitGrant().number()).isGreaterThan(grant.number());
      assertThat(line.stores.get(0).tryAcquire(claim(key))).isEmpty();
    }
  }

  @EachServer
  void aWaiterThatLeavesKeepsNobodyOut(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting impatient = Waiting.join(line.stores.get(1), claim(key));
      Waiting patient = Waiting.join(line.stores.get(2), claim(key));
      impatient.ticket.close();

      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      Grant next = patient.awaitGrant();
      Waiting last = Waiting.join(line.stores.get(1), claim(key));
      last.ticket.close();
      assertThat(line.stores.get(2).release(next, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(line.stores.get(0).tryAcquire(claim(key))).isPresent();
    }
  }

  @EachServer
  void aWaiterThatLeavesAfterItGotTheLockUnseenGivesItToTheNext(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting deaf = Waiting.join(line.stores.get(1), claim(key));
      Waiting next = Waiting.join(line.stores.get(2), claim(key));
      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      deaf.ticket.close();

      assertThat(next.awaitGrant().number()).isGreaterThan(grant.number());
    }
  }

  @EachServer
  void aWaiterThatIsJustLeavingIsHandedNothing(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2);
        Connection leaving = server.connect()) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting.join(line.stores.get(1), claim(key));
      leaving.setAutoCommit(false);
      try (PreparedStatement leave =
          Stores.prepare(leaving, server, key, "DELETE FROM holdfast_lock_waiter WHERE name = ?")) {
        assertThat(leave.executeUpdate()).isEqualTo(1);
      }
      FutureTask<ReleaseOutcome> released =
          new FutureTask<>(() -> line.stores.get(0).release(grant, Duration.ZERO));
      new Thread(released).start();
      // So that the release meets the row before the waiter is gone.
      Await.pause(Duration.ofMillis(500));
      leaving.commit();

      assertThat(released.get(1, TimeUnit.MINUTES)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(line.stores.get(0).tryAcquire(claim(key))).isPresent();
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aDeadWaiterCostsSecondsAndNotATtl(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key, LONG_TTL)).orElseThrow();
      dies(server, key, Duration.ofSeconds(4));
      Waiting alive = Waiting.join(line.stores.get(1), claim(key));

      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(line.stores.get(0).inspect(key).orElseThrow().description()).isEqualTo("who died");

      assertThat(alive.awaitGrant().number()).isGreaterThan(grant.number());
    }
  }

  /** As after TRUNCATE, RESTART IDENTITY, or a move to a server that did not get the counter. */
  @EachServer
  void thereIsALineAlsoWhenTheCounterOfPlacesWasSetBack(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key, LONG_TTL)).orElseThrow();
      Stores.update(server, key, "UPDATE holdfast_lock SET served = 1000000000 WHERE name = ?");
      Waiting first = Waiting.join(line.stores.get(1), claim(key));
      Waiting second = Waiting.join(line.stores.get(2), claim(key));

      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      Grant next = first.awaitGrant();
      assertThat(line.stores.get(1).release(next, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(second.awaitGrant().number()).isGreaterThan(next.number());
    }
  }

  @Test
  void aFailureToReopenTheLineEndsTheWait() throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(Server.POSTGRES, 2);
        Connection connection = Server.POSTGRES.connect();
        Statement statement = connection.createStatement()) {
      assertThat(line.stores.get(0).tryAcquire(claim(key, LONG_TTL))).isPresent();
      Stores.update(
          Server.POSTGRES, key, "UPDATE holdfast_lock SET served = 1000000000 WHERE name = ?");
      createNotNow(statement);
      statement.execute("CREATE TRIGGER not_reopened BEFORE UPDATE OF served ON holdfast_lock"
          + " FOR EACH ROW WHEN (NEW.name = '" + Keys.of(key) + "') EXECUTE FUNCTION not_now()");
      try {
        Waiting waiting = Waiting.join(line.stores.get(1), claim(key));
        assertThatThrownBy(waiting::awaitEnd)
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("not now");
      } finally {
        statement.execute("DROP TRIGGER not_reopened ON holdfast_lock");
      }
    }
  }

  @EachServer
  void whoLeavesDeletesThoseThatDiedLongAgo(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2)) {
      assertThat(line.stores.get(0).tryAcquire(claim(key, LONG_TTL))).isPresent();
      dies(server, key, Duration.ofMinutes(-11));
      dies(server, key, Duration.ofMinutes(-1));
      Waiting.join(line.stores.get(1), claim(key)).ticket.close();

      assertThat(Stores.waitersInTable(server, key)).isEqualTo(1);
    }
  }

  /** Then what it reported lies further in the future than it can. */
  @EachServer
  void aWaiterThatDiedBeforeTheClockWasSetBackKeepsNobodyOut(Server server) throws Exception {
    LockKey key = freshKey();
    Duration setBack = Duration.ofMinutes(1);
    try (Clients line = new Clients(server, 2)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key, LONG_TTL)).orElseThrow();
      dies(server, key, setBack);
      Waiting alive = Waiting.join(line.stores.get(1), claim(key));
      assertThat(line.stores.get(0).release(grant, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);
      Grant next = alive.awaitGrant();
      assertThat(line.stores.get(1).release(next, Duration.ZERO))
          .isEqualTo(ReleaseOutcome.RELEASED);

      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET served = 0, wanted_until = " + Stores.in(server, setBack)
              + " WHERE name = ?");
      assertThat(line.stores.get(0).inspect(key)).isEmpty();
      assertThat(line.stores.get(0).tryAcquire(claim(key))).isPresent();
    }
  }

  @EachServer
  void aWaiterWhoseTurnHasBeenOrWhoseRowIsGoneAsksAnew(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2)) {
      assertThat(line.stores.get(0).tryAcquire(claim(key, LONG_TTL))).isPresent();
      Waiting passedOver = Waiting.join(line.stores.get(1), claim(key));
      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET served = (SELECT MAX(place) FROM holdfast_lock_waiter)"
              + " WHERE name = ?");

      assertThat(passedOver.awaitEnd()).isInstanceOf(Ticket.Gone.class);
      passedOver.ticket.close();
      Stores.update(server, key, "UPDATE holdfast_lock SET served = 0 WHERE name = ?");
      Waiting deleted = Waiting.join(line.stores.get(1), claim(key));
      Stores.update(server, key, "DELETE FROM holdfast_lock_waiter WHERE name = ?");

      assertThat(deleted.awaitEnd()).isInstanceOf(Ticket.Gone.class);
      deleted.ticket.close();
    }
  }

  @EachServer
  void whoeverFreesALockHandsItOver(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      Claim first = claim(key, LONG_TTL);
      Grant grant = line.stores.get(0).tryAcquire(first).orElseThrow();
      Waiting second = Waiting.join(line.stores.get(1), claim(key));
      Waiting third = Waiting.join(line.stores.get(2), claim(key));

      line.stores.get(0).withdraw(first);
      Grant next = second.awaitGrant();
      assertThat(next.number()).isGreaterThan(grant.number());
      assertThat(line.stores.get(0).forceRelease(key, next.number())).isTrue();
      assertThat(third.awaitGrant().number()).isGreaterThan(next.number());
      assertThat(line.stores.get(0).forceRelease(key, next.number())).isFalse();
    }
  }

  @EachServer
  void theFirstInLineTakesALockWhoseHolderDied(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key, LONG_TTL)).orElseThrow();
      Waiting first = Waiting.join(line.stores.get(1), claim(key));
      Waiting second = Waiting.join(line.stores.get(2), claim(key));
      Stores.expire(server, grant);

      Grant next = first.awaitGrant();
      assertThat(next.number()).isGreaterThan(grant.number());
      assertThat(second.ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      second.ticket.close();
      assertThat(line.stores.get(1).verify(next)).isPresent();
    }
  }

  @EachServer
  void aMinimumHoldIsWaitedOutAndThenTheFirstInLineHasTheLock(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 2)) {
      Grant grant = line.stores.get(0).tryAcquire(claim(key)).orElseThrow();
      Waiting waiting = Waiting.join(line.stores.get(1), claim(key));
      long releasedAt = System.nanoTime();
      assertThat(line.stores.get(0).release(grant, Duration.ofSeconds(2)))
          .isEqualTo(ReleaseOutcome.RELEASED);

      waiting.awaitGrant();
      assertThat(Duration.ofNanos(System.nanoTime() - releasedAt))
          .isGreaterThanOrEqualTo(Duration.ofMillis(1_990));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MYSQL"})
  void theRowOfAServedWaiterThatCouldNotBeDeletedAtFirstIsDeletedLater(Server server)
      throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore holder = Stores.open(pool);
        JdbcStore waiter = Stores.open(pool);
        Connection admin = server.connect();
        Statement statement = admin.createStatement()) {
      Grant held = holder.tryAcquire(claim(key)).orElseThrow();
      Waiting waiting = Waiting.join(waiter, claim(key));
      refuseDeletions(server, statement);
      Grant grant;
      try {
        assertThat(holder.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        grant = waiting.awaitGrant();
        // It is deleted after a second, and then every five seconds.
        Await.pause(Duration.ofSeconds(3));
        assertThat(Stores.waitersInTable(server, key)).isEqualTo(1);
      } finally {
        statement.execute(
            "DROP TRIGGER not_now" + (server == Server.POSTGRES ? " ON holdfast_lock_waiter" : ""));
      }

      Await.until("its row is gone", () -> Stores.waitersInTable(server, key) == 0);
      assertThat(waiter.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
  }

  private static void createNotNow(Statement statement) throws SQLException {
    statement.execute("CREATE OR REPLACE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql"
        + " AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$");
  }

  private static void refuseDeletions(Server server, Statement statement) throws SQLException {
    String trigger = "CREATE TRIGGER not_now BEFORE DELETE ON holdfast_lock_waiter FOR EACH ROW ";
    if (server == Server.POSTGRES) {
      createNotNow(statement);
      statement.execute(trigger + "EXECUTE FUNCTION not_now()");
    } else {
      statement.execute(trigger + "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not now'");
    }
  }

  @EachServer
  void aListTellsHowManyWait(Server server) throws Exception {
    LockKey key = freshKey();
    try (Clients line = new Clients(server, 3)) {
      assertThat(line.stores.get(0).tryAcquire(claim(key))).isPresent();
      Waiting.join(line.stores.get(1), claim(key));
      Waiting second = Waiting.join(line.stores.get(2), claim(key));

      assertThat(waitersInList(line.stores.get(0), key)).isEqualTo(2);
      second.ticket.close();
      assertThat(waitersInList(line.stores.get(0), key)).isEqualTo(1);
    }
  }

  private static int waitersInList(JdbcStore store, LockKey key) throws Exception {
    List<StoredLock> held = store.list(LockKind.MUTEX, key.name(), 10);
    assertThat(held).hasSize(1);
    return held.get(0).waiting().orElseThrow();
  }

  /** A client that joins the line and is never heard of again. */
  private static void dies(Server server, LockKey key, Duration aliveFor) throws SQLException {
    Stores.update(
        server,
        key,
        "INSERT INTO holdfast_lock_waiter (name, owner, alive_until, holder) VALUES (?, 'dead', "
            + Stores.in(server, aliveFor)
            + ", 'who died')");
  }
}
