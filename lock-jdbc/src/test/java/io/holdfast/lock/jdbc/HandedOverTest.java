package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A lock that was handed over is its waiter's at once, and never for longer than the row says. */
class HandedOverTest {
  private static final Duration HANDED_OVER =
      Duration.of(Protocol.HANDED_OVER_MICROS, ChronoUnit.MICROS);

  @EachServer
  void aWaiterFindsWhatItHasWithoutAcceptingItAndTheRowSaysItForAsLong(Server server)
      throws Exception {
    LockKey key = freshKey();
    Claim claim = claim(key);
    try (HikariDataSource pool = server.pool(8);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool)) {
      Grant before = holder.tryAcquire(claim(key)).orElseThrow();
      long askedNanos = System.nanoTime();
      Ticket ticket = join(store, claim);
      assertThat(ticket.handedOver()).isEmpty();
      assertThat(holder.release(before, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

      AtomicLong validForNanos = new AtomicLong();
      Await.until("the waiter hears of the hand-over", () -> {
        ticket
            .handedOver()
            .ifPresent(grant -> validForNanos.set(grant.validFor().toNanos()));
        return validForNanos.get() > 0;
      });

      long rowLeftNanos = holder.inspect(key).orElseThrow().remaining().toNanos();
      long believedLeftNanos = askedNanos + validForNanos.get() - System.nanoTime();
      assertThat(believedLeftNanos).isLessThanOrEqualTo(rowLeftNanos);
      Grant grant = ticket.handedOver().orElseThrow();
      assertThat(grant.number()).isGreaterThan(before.number());
      assertThat(store.verify(grant)).isPresent();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(claim.ttl()));
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(holder.inspect(key)).isEmpty();
    }
  }

  @EachServer
  void newsThatComeBeforeTheFirstPollAreWorthWhatIsLeftSinceItJoined(Server server)
      throws Exception {
    HandMovedTime time = new HandMovedTime();
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool, time)) {
      JdbcTicket waiter = unpolled(store, claim(freshKey()));

      time.pass(HANDED_OVER.minusMillis(1));
      waiter.noteNotification(7, 0, true);
      assertThat(waiter.handedOver().orElseThrow().validFor()).isEqualTo(HANDED_OVER);
      time.pass(Duration.ofMillis(1));
      assertThat(waiter.handedOver()).isEmpty();
    }
  }

  @EachServer
  void newsOfATurnThatLapsedAreNoGrantAndTheWaiterAsksAnew(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      JdbcTicket waiter = handedOver(holder, store, key);
      Grant next = takenAfterTheTurnLapsed(server, holder, key);

      time.pass(HANDED_OVER);
      waiter.noteNotification(next.number() - 1, 0, true);

      assertThat(waiter.handedOver()).isEmpty();
      Await.until("a poll finds that its turn is over", () -> {
        time.pass(Duration.ofSeconds(1));
        Await.pause(Duration.ofMillis(20)); // The poller's thread looks every 10 ms.
        return isGone(waiter);
      });
      assertThat(holder.verify(next)).isPresent();
    }
  }

  @EachServer
  void newsAreWorthWhatWasLeftByTheDatabasesClockWhenThatWasLastRead(Server server)
      throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      assertThat(holder.tryAcquire(claim(key))).isPresent();
      JdbcTicket waiter = unpolled(store, claim(key));
      long readNanos = time.nanos();
      time.pass(Duration.ofMillis(1));
      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);
      long readMicros = 1_000_000_000;
      long untilMicros = readMicros + TimeUnit.SECONDS.toMicros(3);

      waiter.noteClock(readMicros, readNanos);
      waiter.noteNotification(7, untilMicros, true);
      assertThat(waiter.handedOver()).as("read before it asked").isEmpty();

      waiter.noteClock(readMicros, time.nanos());
      waiter.noteNotification(7, untilMicros, true);
      assertThat(waiter.handedOver().orElseThrow().validFor()).isEqualTo(Duration.ofSeconds(3));
    }
  }

  @Test
  void aNotificationOfPostgresIsAGrantForAWaiterThatHasAskedSinceItJoined() throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = Server.POSTGRES.pool(8);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      Grant before = holder.tryAcquire(claim(key)).orElseThrow();
      JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
      PostgresListener listener = Objects.requireNonNull(store.poller.listener);
      Await.until("notifications arrive", () -> listener.listening);
      time.pass(HANDED_OVER);
      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);
      int polls = polls(store, waiter);
      Await.until("it is polled for, and then again", () -> {
        time.pass(Duration.ofSeconds(1));
        Await.pause(Duration.ofMillis(20)); // The poller's thread looks every 10 ms.
        return polls(store, waiter) >= polls + 2;
      });

      assertThat(holder.release(before, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

      // No poll is due any more, since the time stands still.
      Await.until("it has the lock", () -> waiter.handedOver().isPresent());
    }
  }

  @EachServer
  void aRowThatWasReadBeforeThePollIsNoGrantAfterIt(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      assertThat(holder.tryAcquire(claim(key))).isPresent();
      JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
      Row.Shown shown = new Row.Shown(7, TimeUnit.SECONDS.toMicros(2), null);
      long beforeNanos = time.nanos();
      time.pass(Duration.ofMillis(1));
      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);

      waiter.noteGrant(shown, beforeNanos);
      assertThat(waiter.handedOver()).isEmpty();
      waiter.noteGrant(shown, time.nanos());
      assertThat(waiter.handedOver().orElseThrow().validFor()).isEqualTo(Duration.ofSeconds(2));
    }
  }

  @EachServer
  void onASlowNetworkNewsAreNoGrantIfItWouldBeOverBeforeItIsRenewed(Server server)
      throws Exception {
    HandMovedTime time = new HandMovedTime();
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool, time)) {
      JdbcTicket waiter = unpolled(store, claim(freshKey()));
      Duration answer = Duration.ofSeconds(1);
      long beforeNanos = time.nanos();
      time.pass(answer);
      waiter.noteClock(0, beforeNanos);

      Duration renewal = answer.multipliedBy(2).plus(answer.dividedBy(2));
      waiter.noteNotification(7, micros(answer.plus(renewal)), true);
      assertThat(waiter.handedOver()).isEmpty();
      waiter.noteNotification(7, micros(answer.plus(renewal)) + 1, true);
      assertThat(waiter.handedOver()).isPresent();
    }
  }

  /** A waiter whose turn has just come, and whose row is locked when it asks, has not lost it. */
  @EachRealServer
  void aWaiterThatWaitedLongAndFindsItsRowLockedIsNotGone(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time);
        Connection other = server.connect()) {
      Grant before = holder.tryAcquire(claim(key)).orElseThrow();
      JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
      time.pass(HANDED_OVER);
      assertThat(holder.release(before, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      other.setAutoCommit(false);
      try (PreparedStatement lock = Stores.prepare(
          other, server, key, "SELECT number FROM holdfast_lock WHERE name = ? FOR UPDATE")) {
        lock.executeQuery().close();
      }
      waiter.noteNotification(before.number() + 1, 0, true);

      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);

      other.rollback();
      assertThat(waiter.poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  @EachServer
  void closingATicketThatGotTheLockLeavesTheLockAlone(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool)) {
      Ticket waiter = handedOver(holder, store, key);
      assertThat(waiter.poll()).isInstanceOf(Ticket.Granted.class);

      waiter.close();

      assertThat(holder.inspect(key)).isPresent();
    }
  }

  @EachServer
  void whatItHeardBeforeTheDatabaseSaidNoIsNoGrantAfterIt(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      JdbcTicket waiter = handedOver(holder, store, key);
      Grant next = takenAfterTheTurnLapsed(server, holder, key);
      waiter.noteNotification(next.number() - 1, 0, true);

      assertThat(waiter.poll()).isNotInstanceOf(Ticket.Granted.class);

      assertThat(waiter.handedOver()).isEmpty();
      assertThat(holder.verify(next)).isPresent();
    }
  }

  /** The engine asks at the end of a timed wait, whatever the poller saw just before. */
  @EachServer
  void aWaiterThatAsksIsToldWhatTheDatabaseSays(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      Grant before = holder.tryAcquire(claim(key)).orElseThrow();
      JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
      time.pass(Duration.ofSeconds(4));
      Await.until("it is polled for", () -> polls(store, waiter) > 0);
      Stores.expire(server, before);

      synchronized (store.poller) { // It sees no more.
        time.pass(Duration.ofSeconds(1));
        assertThat(waiter.poll()).isInstanceOf(Ticket.Granted.class);
      }
    }
  }

  /** As when the engine declines a grant long after it was offered. */
  @EachServer
  void aWaiterThatAsksWhenThePollersThreadHasEndedIsPolledForAgain(Server server) throws Exception {
    HandMovedTime time = new HandMovedTime();
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      assertThat(holder.tryAcquire(claim(key))).isPresent();
      JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
      store.poller.leave(waiter);
      Await.until("the thread has ended", () -> {
        time.pass(Duration.ofSeconds(1));
        return !isPolling();
      });

      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);

      assertThat(isPolling()).isTrue();
    }
  }

  private static long micros(Duration duration) {
    return TimeUnit.NANOSECONDS.toMicros(duration.toNanos());
  }

  private static int polls(JdbcStore store, JdbcTicket waiter) {
    synchronized (store.poller) {
      return waiter.pace.polls;
    }
  }

  private static boolean isPolling() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("holdfast-test-poller"));
  }

  private static boolean isGone(Ticket ticket) {
    try {
      return ticket.poll() instanceof Ticket.Gone;
    } catch (StoreException e) {
      throw new AssertionError(e);
    }
  }

  /** A waiter that the lock was handed over to, and that has not heard of it. */
  private static JdbcTicket handedOver(JdbcStore holder, JdbcStore store, LockKey key)
      throws Exception {
    Grant before = holder.tryAcquire(claim(key)).orElseThrow();
    JdbcTicket waiter = (JdbcTicket) join(store, claim(key));
    assertThat(holder.release(before, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    return waiter;
  }

  /** A waiter of which the poller does not know until it asks. */
  private static JdbcTicket unpolled(JdbcStore store, Claim claim) {
    return new JdbcTicket(store, store.time.nanos(), claim, Keys.stored(claim), 1, () -> {});
  }

  private static Grant takenAfterTheTurnLapsed(Server server, JdbcStore store, LockKey key)
      throws Exception {
    Stores.update(server, key, "UPDATE holdfast_lock SET expires_at = 0 WHERE name = ?");
    Stores.update(server, key, "UPDATE holdfast_lock SET wanted_until = 0 WHERE name = ?");
    return store.tryAcquire(claim(key)).orElseThrow();
  }

  private static Ticket join(JdbcStore store, Claim claim) throws Exception {
    Acquisition acquisition = store.acquireOrQueue(claim, () -> {});
    assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
    return ((Acquisition.Queued) acquisition).ticket();
  }
}
