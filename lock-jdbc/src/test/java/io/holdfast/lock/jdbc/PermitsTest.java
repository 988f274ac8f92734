package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Semaphores on a database, beyond what the kit asks. */
@Tag("one-jdk")
@Timeout(120)
class PermitsTest {
  private static final Duration AGED = Duration.ofHours(1);

  private static LockKey freshKey() {
    return new LockKey(LockKind.PERMIT, "test/" + UUID.randomUUID());
  }

  private static Claim claim(LockKey key, int permits, Duration ttl) {
    Claim mutex = Stores.claim(key, ttl);
    return new Claim(key, mutex.ownerId(), ttl, mutex.minHold(), mutex.holder(), permits);
  }

  private static Claim claim(LockKey key, int permits) {
    return claim(key, permits, Stores.TTL);
  }

  private static Grant take(JdbcStore store, LockKey key, int permits) throws StoreException {
    return store.tryAcquire(claim(key, permits)).orElseThrow();
  }

  private static void release(JdbcStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).hasToString("RELEASED");
  }

  /** What stands at the moment, as its holders know it. */
  private static final class Standing {
    private final Map<Integer, Integer> numberByPermit = new TreeMap<>();
    private final Set<Long> numbers = new HashSet<>();
    private final List<String> wrong = new ArrayList<>();

    synchronized void began(Grant grant) {
      int permits = grant.claim().permits();
      if (numberByPermit.values().stream().anyMatch(other -> other != permits)) {
        wrong.add(permits + " beside " + numberByPermit);
      }
      if (numberByPermit.put(grant.permit(), permits) != null) {
        wrong.add("permit " + grant.permit() + " twice");
      }
      if (numberByPermit.size() > permits) {
        wrong.add(numberByPermit.size() + " of " + permits);
      }
      if (!numbers.add(grant.number())) {
        wrong.add("number " + grant.number() + " twice");
      }
    }

    synchronized void ended(Grant grant) {
      numberByPermit.remove(grant.permit());
    }

    synchronized List<String> wrong() {
      return List.copyOf(wrong);
    }
  }

  @ParameterizedTest
  @EnumSource
  void thoseWhoDisagreeAboutTheNumberNeverHoldPermitsAtTheSameTime(Server server) throws Exception {
    int clients = 6;
    LockKey key = freshKey();
    Standing standing = new Standing();
    Map<Integer, AtomicInteger> grants = Map.of(2, new AtomicInteger(), 3, new AtomicInteger());
    AtomicInteger refused = new AtomicInteger();
    try (HikariDataSource pool = server.pool(3 * clients)) {
      ExecutorService executor = Executors.newCachedThreadPool();
      List<Future<?>> running = new ArrayList<>();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
      for (int i = 0; i < clients; i++) {
        int permits = 2 + i % 2;
        Callable<Void> body = () -> {
          try (JdbcStore store = Stores.open(pool)) {
            while (System.nanoTime() - end < 0) {
              try {
                Optional<Grant> grant = store.tryAcquire(claim(key, permits));
                if (grant.isPresent()) {
                  standing.began(grant.get());
                  grants.get(permits).incrementAndGet();
                  Stores.pause(Duration.ofMillis(ThreadLocalRandom.current().nextInt(3)));
                  standing.ended(grant.get());
                  release(store, grant.get());
                }
              } catch (StoreException e) {
                if (e.permitsStored().isEmpty()) {
                  throw e;
                }
                refused.incrementAndGet();
              }
              Stores.pause(Duration.ofMillis(ThreadLocalRandom.current().nextInt(5)));
            }
          }
          return null;
        };
        running.add(executor.submit(body));
      }
      executor.shutdown();
      for (Future<?> each : running) {
        each.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(standing.wrong()).isEmpty();
    assertThat(grants.get(2).get()).as("grants of two").isPositive();
    assertThat(grants.get(3).get()).as("grants of three").isPositive();
    assertThat(refused.get()).as("refusals").isPositive();
  }

  @ParameterizedTest
  @EnumSource
  void aWaiterGetsThePermitOfAHolderWhoseTimeIsOver(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore holders = Stores.open(pool);
        JdbcStore waiters = Stores.open(pool)) {
      Grant kept = take(holders, key, 2);
      Grant crashed = take(holders, key, 2);
      AtomicInteger woken = new AtomicInteger();
      Ticket ticket = ((Acquisition.Queued)
              waiters.acquireOrQueue(claim(key, 2), woken::incrementAndGet))
          .ticket();
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);

      int before = woken.get();
      update(server, crashed, "expires_at = 1");
      Stores.await("the waiter is woken", () -> woken.get() > before);
      Grant next = ((Ticket.Granted) ticket.poll()).grant();
      assertThat(next.permit()).isEqualTo(crashed.permit());
      assertThat(next.number()).isGreaterThan(crashed.number());
      assertThat(holders.renew(List.of(kept, crashed)))
          .containsExactly(new Renewal.Renewed(Stores.TTL), new Renewal.Lost());
      assertThat(waiters.renew(List.of(next))).containsExactly(new Renewal.Renewed(Stores.TTL));
    }
  }

  /** Waits behind all who came before; the permits are taken. */
  private static Ticket join(JdbcStore store, Claim claim, AtomicInteger woken) throws Exception {
    return ((Acquisition.Queued) store.acquireOrQueue(claim, woken::incrementAndGet)).ticket();
  }

  @ParameterizedTest
  @EnumSource
  void aReleaseHandsThePermitToTheFirstInLineWhichIsToldAtOnceIfItIsOfThatClient(Server server)
      throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool)) {
      Grant kept = take(store, key, 2);
      Grant freed = take(store, key, 2);
      AtomicInteger woken = new AtomicInteger();
      Ticket first = join(store, claim(key, 2), woken);
      Ticket second = join(store, claim(key, 2), new AtomicInteger());
      release(store, freed);

      Grant next = first.handedOver().orElseThrow();
      assertThat(woken.get()).isPositive();
      assertThat(next.permit()).isEqualTo(freed.permit());
      assertThat(next.number()).isGreaterThan(freed.number());
      assertThat(store.verify(next)).isPresent();
      assertThat(store.renew(List.of(next))).containsExactly(new Renewal.Renewed(Stores.TTL));
      assertThat(second.handedOver()).isEmpty();
      assertThat(second.poll()).isInstanceOf(Ticket.Waiting.class);

      release(store, next);
      Grant last = second.handedOver().orElseThrow();
      assertThat(last.permit()).isEqualTo(freed.permit());
      assertThat(last.number()).isGreaterThan(next.number());
      release(store, last);
      assertThat(store.holders(key))
          .extracting(StoredHolder::permit)
          .containsExactly(kept.permit());
      assertThat(take(store, key, 2).number()).isGreaterThan(last.number());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWaiterOfAnotherClientHearsOfItsPermitAndOneThatNeedsTheWholeTtlAccepts(Server server)
      throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(12);
        JdbcStore holders = Stores.open(pool);
        JdbcStore waiters = Stores.open(pool)) {
      Grant one = take(holders, key, 2);
      Grant other = take(holders, key, 2);
      Ticket first = join(waiters, claim(key, 2, AGED), new AtomicInteger());
      Ticket second = join(waiters, claim(key, 2, AGED), new AtomicInteger());
      release(holders, other);
      release(holders, one);

      Stores.await("the first hears of it", () -> first.handedOver().isPresent());
      assertThat(first.handedOver().orElseThrow().permit()).isEqualTo(other.permit());
      Grant accepted = ((Ticket.Granted) second.poll()).grant();
      assertThat(accepted.permit()).isEqualTo(one.permit());
      assertThat(accepted.validFor()).isEqualTo(AGED);
      assertThat(waiters.verify(accepted).orElseThrow()).isGreaterThan(AGED.dividedBy(2));
      assertThat(holders.tryAcquire(claim(key, 2))).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPermitThatIsHandedToAWaiterWhichDoesNotAcceptGoesToTheNext(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(12);
        JdbcStore store = Stores.open(pool)) {
      Grant held = take(store, key, 1);
      JdbcStore dead = Stores.open(pool);
      join(dead, claim(key, 1, AGED), new AtomicInteger());
      dead.close(); // It says no more that its waiter is alive, and has not withdrawn it.
      AtomicInteger woken = new AtomicInteger();
      Ticket leaving = join(store, claim(key, 1), new AtomicInteger());
      Ticket last = join(store, claim(key, 1), woken);
      release(store, held);
      assertThat(leaving.handedOver()).isEmpty();
      assertThat(store.holders(key)).hasSize(1);

      leaving.close();
      Grant next = awaitGrant(last, woken);
      assertThat(next.number()).isGreaterThan(held.number());
      release(store, next);
    }
  }

  private static Grant awaitGrant(Ticket ticket, AtomicInteger woken) throws Exception {
    while (true) {
      Stores.await("woken", () -> woken.getAndSet(0) > 0);
      Optional<Grant> handed = ticket.handedOver();
      if (handed.isPresent()) {
        return handed.get();
      }
      if (ticket.poll() instanceof Ticket.Granted granted) {
        return granted.grant();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPermitThatATransactionIsGuardedByIsNotGivenAwayAndTheOthersAre(Server server)
      throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool);
        Connection transaction = server.connect()) {
      JdbcGrant guarded = (JdbcGrant) take(store, key, 2);
      transaction.setAutoCommit(false);
      assertThat(guarded
              .dialect()
              .guard(transaction, guarded.key(), guarded.claim().ownerId(), guarded.number()))
          .isTrue();
      // Only the transaction can write to the row now, so it lets its own time be over.
      update(transaction, server, guarded, "expires_at = 1");

      Grant other = take(store, key, 2);
      assertThat(other.permit()).isNotEqualTo(guarded.permit());
      assertThat(store.tryAcquire(claim(key, 2))).isEmpty();
      release(store, other);
      assertThat(take(store, key, 2).permit()).isEqualTo(other.permit());

      transaction.commit();
      assertThat(take(store, key, 2).permit()).isEqualTo(guarded.permit());
      transaction.setAutoCommit(true);
      assertThat(guarded
              .dialect()
              .guard(transaction, guarded.key(), guarded.claim().ownerId(), guarded.number()))
          .isFalse();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aClaimThatIsWithdrawnHasNeitherAPermitNorAPlace(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool)) {
      Grant kept = take(store, key, 2);
      Grant withdrawn = take(store, key, 2);
      Claim waiting = claim(key, 2);
      assertThat(store.acquireOrQueue(waiting, () -> {})).isInstanceOf(Acquisition.Queued.class);

      store.withdraw(waiting);
      store.withdraw(withdrawn.claim());
      store.withdraw(withdrawn.claim());

      assertThat(store.holders(key))
          .extracting(StoredHolder::permit)
          .containsExactly(kept.permit());
      assertThat(take(store, key, 2).permit()).isEqualTo(withdrawn.permit());
      assertThat(store.verify(kept)).isPresent();
      assertThat(store.verify(withdrawn)).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPurgeForgetsNeitherThePermitsThatAreHeldNorTheirNumber(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool)) {
      Grant held = take(store, key, 3);
      Grant freed = take(store, key, 3);
      release(store, freed);
      String old = "changed_at = changed_at - " + AGED.multipliedBy(2).toNanos() / 1_000;
      update(server, held, old);
      update(server, freed, old);
      updateRow(server, Keys.of(key), old);

      assertThat(JdbcLocks.builder(pool).schema(SchemaMode.CREATE).purge(AGED))
          .isGreaterThanOrEqualTo(2);

      assertThat(store.verify(held)).isPresent();
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> store.tryAcquire(claim(key, 2)))
          .satisfies(e -> assertThat(e.permitsStored()).hasValue(3));
      Grant again = take(store, key, 3);
      assertThat(again.permit()).isEqualTo(freed.permit());
      assertThat(again.number()).isGreaterThan(freed.number());
      release(store, again);
      release(store, held);
      assertThat(take(store, key, 2).claim().permits()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource
  void theLongestNamesHavePermitsOfTheirOwn(Server server) throws Exception {
    String longest = "\ud83d\udd12".repeat(LockKey.NAME_CODE_POINTS_MAX - 1);
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool)) {
      Grant one = take(store, new LockKey(LockKind.PERMIT, longest + "\ud83d\udd13"), 1);
      Grant other = take(store, new LockKey(LockKind.PERMIT, longest + "\ud83d\udd14"), 1);
      assertThat(store.verify(one)).isPresent();
      assertThat(store.verify(other)).isPresent();
      release(store, one);
      release(store, other);
    }
  }

  /** Changes a permit's row, which must be there. */
  private static void update(Server server, Grant grant, String set) throws SQLException {
    updateRow(server, ((JdbcGrant) grant).key(), set);
  }

  private static void update(Connection connection, Server server, JdbcGrant grant, String set)
      throws SQLException {
    updateRow(connection, server, grant.key(), set);
  }

  private static void updateRow(Server server, String row, String set) throws SQLException {
    try (Connection connection = server.connect()) {
      updateRow(connection, server, row, set);
    }
  }

  private static void updateRow(Connection connection, Server server, String row, String set)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("UPDATE holdfast_lock SET " + set + " WHERE name = ?")) {
      if (server == Server.POSTGRES) {
        statement.setString(1, row);
      } else {
        statement.setBytes(1, row.getBytes(StandardCharsets.UTF_8));
      }
      assertThat(statement.executeUpdate()).isEqualTo(1);
    }
  }
}
