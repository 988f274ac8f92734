package io.holdfast.lock.jdbc;

import static io.holdfast.lock.jdbc.Stores.permitClaim;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A permit is an entry in its semaphore's row. */
class PermitsTest {
  private static final Duration LONG_TTL = Duration.ofMinutes(5);
  private static final Duration SHORT_TTL = Duration.ofSeconds(3);

  private final LockKey key = new LockKey(LockKind.PERMIT, Claims.freshName());

  private Claim claim(int permits) {
    return permitClaim(key, permits, Claims.TTL);
  }

  private PermitGrant take(JdbcStore store, int permits) throws StoreException {
    return take(store, permits, Claims.TTL);
  }

  private PermitGrant take(JdbcStore store, int permits, Duration ttl) throws StoreException {
    return (PermitGrant) store.tryAcquire(permitClaim(key, permits, ttl)).orElseThrow();
  }

  private List<PermitGrant> takeAll(JdbcStore store, int permits) throws StoreException {
    return takeAll(store, permits, permits);
  }

  private List<PermitGrant> takeAll(JdbcStore store, int times, int permits) throws StoreException {
    List<PermitGrant> grants = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      grants.add(take(store, permits));
    }
    return grants;
  }

  private static void release(JdbcStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private List<Integer> held(JdbcStore store) throws StoreException {
    return store.holders(key).stream().map(StoredPermit::permit).toList();
  }

  private void awaitHeld(JdbcStore store, List<Integer> permits) {
    Await.until("these permits are held: " + permits, () -> {
      try {
        return held(store).equals(permits);
      } catch (StoreException e) {
        throw new AssertionError(e);
      }
    });
  }

  /** Whatever is in a list, no statement touches the entry of another. */
  @EachServer
  void noPermitIsGivenTwiceInAnyOrderOfTheSteps(Server server) throws Exception {
    Random random = new Random(7);
    int permits = 4;
    try (Clients clients = new Clients(server, 2)) {
      Map<Integer, PermitGrant> holding = new HashMap<>();
      long last = 0;
      for (int step = 0; step < 120; step++) {
        JdbcStore store = clients.stores.get(random.nextInt(2));
        List<PermitGrant> grants = List.copyOf(holding.values());
        Duration ttl = Duration.ofSeconds(60 + random.nextInt(600));
        int kind = grants.isEmpty() ? 0 : random.nextInt(6);
        if (kind < 3 && grants.size() < permits) {
          PermitGrant grant = take(store, permits, ttl);
          assertThat(grant.number()).isGreaterThan(last);
          last = grant.number();
          assertThat(holding.put(grant.permit(), grant)).isNull();
        } else if (kind < 3) {
          assertThat(store.tryAcquire(claim(permits))).isEmpty();
        } else if (kind == 3) {
          PermitGrant grant = grants.get(random.nextInt(grants.size()));
          release(store, grant);
          assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
          holding.remove(grant.permit());
        } else if (kind == 4) {
          assertThat(store.renew(List.copyOf(grants)))
              .isEqualTo(grants.stream()
                  .map(grant -> new Renewal.Renewed(grant.claim().ttl()))
                  .toList());
        } else {
          Duration longer = ttl.multipliedBy(2);
          assertThat(store.extend(grants.get(0), longer).orElseThrow())
              .isGreaterThanOrEqualTo(longer);
        }
        assertShown(store, holding);
      }
    }
  }

  private void assertShown(JdbcStore store, Map<Integer, PermitGrant> holding)
      throws StoreException {
    List<StoredPermit> shown = store.holders(key);
    assertThat(shown).extracting(StoredPermit::permit).isSorted().hasSize(holding.size());
    for (StoredPermit permit : shown) {
      assertThat(permit.holder().number())
          .isEqualTo(holding.get(permit.permit()).number());
      assertThat(permit.holder().description()).isEqualTo("p\u00e9rmit #0001.0002, of a test");
      assertThat(permit.holder().released()).isFalse();
      assertThat(permit.holder().since())
          .isBetween(Instant.now().minusSeconds(600), Instant.now().plusSeconds(600));
    }
  }

  @EachServer
  void aWrongGuessIsFollowedByAPermitThatIsFree(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant besides = take(clients.stores.get(1), 2);
      for (int guess = 0; guess < 2; guess++) {
        store.permits.guesses.noteFree(key.name(), guess);
        PermitGrant grant = take(store, 2);
        assertThat(grant.permit()).isEqualTo(1 - besides.permit());
        release(store, grant);
      }
    }
  }

  @EachServer
  void whoWaitsIsGivenThePermitThatBecomesFreeInTheOrderOfJoining(Server server) throws Exception {
    try (Clients clients = new Clients(server, 3)) {
      JdbcStore holder = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(holder, 2);
      Waiting first = Waiting.join(clients.stores.get(1), claim(2));
      Waiting second = Waiting.join(clients.stores.get(2), claim(2));
      release(holder, grants.get(1));
      PermitGrant next = (PermitGrant) first.awaitEntry();
      assertThat(next.permit()).isEqualTo(grants.get(1).permit());
      assertThat(second.ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(holder.tryAcquire(claim(2))).isEmpty();
      release(clients.stores.get(1), next);
      PermitGrant last = (PermitGrant) second.awaitEntry();
      assertThat(last.permit()).isEqualTo(grants.get(1).permit());
      assertThat(last.number()).isGreaterThan(next.number());
      release(clients.stores.get(2), last);
      release(holder, grants.get(0));
      assertThat(holder.holders(key)).isEmpty();
    }
    Await.until("nobody is in the table", () -> Stores.waitersInTable(server, key) == 0);
  }

  @EachServer
  void nobodyGoesPastTheLine(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(store, 3);
      Claim waiting = claim(3);
      Waiting first = Waiting.join(clients.stores.get(1), waiting);
      // Two are free, and the first in line takes only one of them.
      addWaiterThatDies(server, 3, 3);
      release(store, grants.get(0));
      release(store, grants.get(1));
      release(clients.stores.get(1), first.awaitEntry());
      assertThat(store.tryAcquire(claim(3))).as("past a waiter").isEmpty();
      // Nobody has reported that one alive.
      Waiting behind = Waiting.join(store, claim(3));
      release(store, behind.awaitEntry());
      release(store, grants.get(2));
    }
  }

  private void addWaiterThatDies(Server server, int permits, int seconds) throws SQLException {
    Stores.update(
        server,
        key,
        "INSERT INTO holdfast_lock_waiter (name, owner, alive_until, holder, mode) VALUES (?, 'dead', "
            + Stores.in(server, Duration.ofSeconds(seconds))
            + ", 'a waiter who died#000" + permits + ".0000', 'p')");
  }

  /** Each that enters tells the next: no poll is due any more, since the time stands still. */
  @Test
  void allThatBecomeFreeAreGivenToThoseWhoWaitByNotifications() throws Exception {
    HandMovedTime time = new HandMovedTime();
    try (HikariDataSource pool = Server.POSTGRES.pool(12);
        JdbcStore holder = Stores.open(pool);
        JdbcStore store = Stores.open(pool, time)) {
      List<PermitGrant> grants = takeAll(holder, 3);
      List<Waiting> waiting = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        waiting.add(Waiting.join(store, claim(3)));
      }
      Await.until("notifications are heard, and all are polled for", () -> {
        time.pass(Duration.ofSeconds(1));
        Await.pause(Duration.ofMillis(20)); // The poller's thread looks every 10 ms.
        return store.poller.listener.listening
            && waiting.stream().allMatch(each -> ((JdbcTicket) each.ticket).pace.polls > 2);
      });

      for (PermitGrant grant : grants) {
        release(holder, grant);
      }
      List<Integer> given = new ArrayList<>();
      for (Waiting each : waiting) {
        given.add(((PermitGrant) each.awaitEntry()).permit());
      }
      assertThat(given).containsExactlyInAnyOrder(0, 1, 2);
    }
  }

  @EachServer
  void whoLosesTheAnswerToItsPollFindsItsPermitByTheNext(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(store, 2);
      Waiting waiting = Waiting.join(clients.stores.get(1), claim(2));
      JdbcTicket ticket = (JdbcTicket) waiting.ticket;
      release(store, grants.get(1));
      // As an earlier poll whose answer was lost.
      PermitGrant lost = (PermitGrant) clients
          .stores
          .get(1)
          .permits
          .enterFromLine(store.database.deadline(), ticket)
          .orElseThrow();
      PermitGrant found = (PermitGrant) waiting.awaitEntry();
      assertThat(found.number()).isEqualTo(lost.number());
      assertThat(found.permit()).isEqualTo(lost.permit());
      release(clients.stores.get(1), found);
      release(store, grants.get(0));
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void anotherNumberOfPermitsIsRefusedUntilNobodyHasOne(Server server) throws Exception {
    try (Clients clients = new Clients(server, 1)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant grant = take(store, 3);
      assertDiffers(store, 5);
      assertDiffers(store, 2);
      assertThat(Stores.waitersInTable(server, key)).isZero();
      assertThat(store.release(grant, SHORT_TTL)).isEqualTo(ReleaseOutcome.RELEASED);
      assertDiffers(store, 5);
      awaitHeld(store, List.of());
      addWaiterThatDies(server, 3, 3);
      assertDiffers(store, 5);
      Await.until("the waiter is dead", () -> {
        try {
          return store.tryAcquire(claim(5)).isPresent();
        } catch (PermitsDifferException e) {
          return false;
        } catch (StoreException e) {
          throw new AssertionError(e);
        }
      });
      assertThat(takeAll(store, 4, 5)).hasSize(4);
      assertThat(held(store)).containsExactly(0, 1, 2, 3, 4);
    }
  }

  private void assertDiffers(JdbcStore store, int permits) {
    assertThatExceptionOfType(PermitsDifferException.class)
        .isThrownBy(() -> store.tryAcquire(claim(permits)))
        .satisfies(e -> assertThat(e.stored()).isEqualTo(3));
    assertThatExceptionOfType(PermitsDifferException.class)
        .isThrownBy(() -> store.acquireOrQueue(claim(permits), () -> {}))
        .satisfies(e -> assertThat(e.stored()).isEqualTo(3));
  }

  /** It joined while nobody had one, and others who wait must not stand behind it. */
  @EachServer
  void aWaiterThatKnowsAnotherNumberIsRefusedWhenItIsFirst(Server server) throws Exception {
    try (Clients clients = new Clients(server, 1)) {
      JdbcStore store = clients.stores.get(0);
      release(store, take(store, 2));
      addWaiterThatDies(server, 3, 6);
      Waiting waiting = Waiting.join(store, claim(3));
      Stores.update(
          server,
          key,
          "UPDATE holdfast_lock SET owner = '*', expires_at = " + Stores.in(server, LONG_TTL)
              + ", readers = '0123456789abcdef0123456789abcdef90000000000000001000000000000000"
              + "x#0002.0000;' WHERE name = ?");
      Stores.update(
          server, key, "DELETE FROM holdfast_lock_waiter WHERE owner = 'dead' AND name = ?");
      assertThatExceptionOfType(PermitsDifferException.class)
          .isThrownBy(waiting::awaitEntry)
          .satisfies(e -> assertThat(e.stored()).isEqualTo(2));
    }
  }

  @EachServer
  void whatAMinimumHoldKeepsIsTakenAndEndsByItselfOrByForce(Server server) throws Exception {
    try (Clients clients = new Clients(server, 1)) {
      JdbcStore store = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(store, 3);
      for (PermitGrant grant : grants.subList(0, 2)) {
        assertThat(store.release(grant, LONG_TTL)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.verify(grant)).isEmpty();
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Lost());
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
      }
      assertThat(store.holders(key))
          .extracting(permit -> permit.holder().released())
          .containsOnlyOnce(false);
      assertThat(store.tryAcquire(claim(3))).isEmpty();

      assertThat(store.forceRelease(key, grants.get(0).number())).isTrue();
      assertThat(store.forceRelease(key, grants.get(0).number())).isFalse();
      PermitGrant next = take(store, 3);
      assertThat(next.permit()).isEqualTo(grants.get(0).permit());
      assertThat(held(store)).containsExactly(0, 1, 2);
      assertThat(store.verify(grants.get(2))).isPresent();

      assertThat(store.release(next, SHORT_TTL)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant waited = Waiting.join(store, claim(3)).awaitEntry();
      assertThat(((PermitGrant) waited).permit()).isEqualTo(next.permit());
    }
  }

  @EachServer
  void whoCrashedLosesItsPermitAndNobodyElseDoes(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant dead = take(store, 2, SHORT_TTL);
      PermitGrant living = take(store, 2, LONG_TTL);
      assertThat(clients.stores.get(1).tryAcquire(claim(2))).isEmpty();
      awaitHeld(store, List.of(living.permit()));
      assertThat(store.renew(List.of(living)))
          .containsExactly(new Renewal.Renewed(living.claim().ttl()));
      assertThat(store.renew(List.of(dead))).containsExactly(new Renewal.Lost());
      assertThat(store.extend(dead, LONG_TTL)).isEmpty();
      PermitGrant next = take(clients.stores.get(1), 2);
      assertThat(next.permit()).isEqualTo(dead.permit());
      assertThat(next.number()).isGreaterThan(living.number());
      assertThat(store.release(dead, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
      assertThat(held(store)).containsExactly(0, 1);
      assertThat(store.verify(living)).isPresent();
    }
  }

  @EachServer
  void thePermitOfOneThatCrashedComesToWhoWaits(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant dead = take(store, 2, SHORT_TTL);
      PermitGrant living = take(store, 2, LONG_TTL);
      Waiting waiting = Waiting.join(clients.stores.get(1), claim(2));
      PermitGrant next = (PermitGrant) waiting.awaitEntry();
      assertThat(next.permit()).isEqualTo(dead.permit());
      assertThat(store.verify(living)).isPresent();
    }
  }

  @EachServer
  void whoHasTheLongestDescriptionCanWaitToo(Server server) throws Exception {
    try (Clients clients = new Clients(server, 1)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant grant = take(store, 1);
      Claim claim = claim(1);
      Waiting waiting = Waiting.join(
          store,
          new Claim(
              key,
              claim.mode(),
              claim.ownerId(),
              claim.ttl(),
              claim.minHold(),
              "\u00e9".repeat(Claim.HOLDER_LENGTH_MAX)));
      release(store, grant);
      release(store, waiting.awaitEntry());
    }
  }

  @EachServer
  void whatIsWithdrawnIsNoLongerHeldNorInTheLine(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2)) {
      JdbcStore store = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(store, 2);
      Waiting waiting = Waiting.join(clients.stores.get(1), claim(2));
      waiting.ticket.close();
      store.withdraw(grants.get(0).claim());
      store.withdraw(grants.get(0).claim());
      assertThat(held(store)).containsExactly(grants.get(1).permit());
      store.withdraw(grants.get(1).claim());
      assertThat(store.holders(key)).isEmpty();
      assertThat(store.list(LockKind.MUTEX, "", 1_000))
          .noneMatch(lock -> lock.key().name().equals(key.name()));
    }
  }

  /** A guard's transaction has the row locked until it ends; nobody's grant is lost by that. */
  @EachRealServer
  @Execution(ExecutionMode.CONCURRENT)
  void aGuardKeepsItsPermitForAMomentAndTheOthersTheirs(Server server) throws Exception {
    try (Clients clients = new Clients(server, 2);
        Connection transaction = server.connect()) {
      JdbcStore store = clients.stores.get(0);
      JdbcGrant guarded = (JdbcGrant) take(store, 2, SHORT_TTL);
      JdbcGrant other = (JdbcGrant) take(store, 2, LONG_TTL);
      transaction.setAutoCommit(false);
      assertThat(guarded.dialect().guard(transaction, guarded.stored(), guarded.number()))
          .isTrue();
      Await.pause(SHORT_TTL);
      assertThatThrownBy(() -> clients.stores.get(1).tryAcquire(claim(2)))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.mayHaveHappened()).isFalse());
      assertThat(store.renew(List.of(other)).get(0)).isInstanceOf(Renewal.Unknown.class);
      transaction.commit();
      assertThat(store.renew(List.of(other)))
          .containsExactly(new Renewal.Renewed(other.claim().ttl()));
      PermitGrant next = take(clients.stores.get(1), 2);
      assertThat(next.permit()).isEqualTo(guarded.permit());
      assertThat(guarded.dialect().guard(transaction, guarded.stored(), guarded.number()))
          .isFalse();
      transaction.rollback();
      assertThat(other.dialect().guard(transaction, other.stored(), other.number()))
          .isTrue();
      transaction.rollback();
    }
  }

  @EachServer
  void aThousandPermitsAreGivenAndNoMore(Server server) throws Exception {
    int permits = Claim.PERMITS_MAX;
    try (Clients clients = new Clients(server, 1)) {
      JdbcStore store = clients.stores.get(0);
      List<PermitGrant> grants = takeAll(store, permits);
      assertThat(grants.stream().map(PermitGrant::permit).distinct()).hasSize(permits);
      assertThat(store.tryAcquire(claim(permits))).isEmpty();
      assertThat(store.holders(key)).hasSize(permits);
      release(store, grants.get(500));
      assertThat(take(store, permits).permit()).isEqualTo(grants.get(500).permit());
    }
  }

  /** Statements compare digits as text. */
  @Test
  void theLanguageOfTheMachineDoesNotMatter() throws Exception {
    Locale before = Locale.getDefault();
    try (Clients clients = new Clients(Server.H2, 1)) {
      JdbcStore store = clients.stores.get(0);
      PermitGrant first = take(store, 2);
      Locale.setDefault(Locale.forLanguageTag("fa-u-nu-arabext"));
      assertThat(take(store, 2).permit()).isEqualTo(1 - first.permit());
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void theDriverMayLeaveThePostgresServerToFindOutWhatIsAText() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(
            4, config -> config.addDataSourceProperty("stringtype", "unspecified"));
        JdbcStore store = Stores.open(pool)) {
      List<PermitGrant> grants = takeAll(store, 3);
      assertThat(store.extend(grants.get(0), LONG_TTL)).isPresent();
      assertThat(store.release(grants.get(1), LONG_TTL)).isEqualTo(ReleaseOutcome.RELEASED);
      release(store, grants.get(0));
      release(store, grants.get(2));
    }
  }
}
