package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.redis.server.OwnConnection;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Ports;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.MovableTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** An address that leads to another server from now on, while the old one stays up. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AddressMoveTest {
  private static final int POOL_SIZE = 4;

  private ManyServers servers;
  private RedisClient former;
  private RedisClient next;
  private FaultProxy address;
  private RedisClient redis;
  private LockStore store;

  @BeforeAll
  void start() throws Exception {
    servers = ManyServers.independent(2);
    former = RedisAccess.client(servers.address(0), 4);
    next = RedisAccess.client(servers.address(1), 4);
  }

  @AfterAll
  void stop() {
    if (servers != null) {
      former.close();
      next.close();
      servers.close();
    }
  }

  @BeforeEach
  void open() throws Exception {
    address = FaultProxy.open(servers.address(0).getHost(), servers.address(0).getPort());
    redis = RedisAccess.client(new HostAndPort(address.host(), address.port()), POOL_SIZE);
    store = Stores.open(redis);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
    address.close();
    Stores.send(former, Protocol.Command.REPLICAOF, "NO", "ONE");
  }

  private void move() {
    address.moveTo(servers.address(1).getHost(), servers.address(1).getPort());
  }

  @Test
  void leasesAreRenewedWhereTheAddressLeadsNow() throws Exception {
    Grant old = grant();
    assertThat(store.renew(List.of(old))).containsExactly(new Renewal.Renewed(Claims.TTL));
    move();
    redis.getPool().clear();

    Grant fresh = grant();
    assertThat(Stored.isTaken(next, Stored.keyOf(fresh.claim().key()))).isTrue();
    assertThat(store.renew(List.of(fresh))).containsExactly(new Renewal.Renewed(Claims.TTL));
    // Where nobody asks any more, it would be renewed for ever, whoever has the lock.
    assertThat(store.renew(List.of(old))).containsExactly(new Renewal.Lost());
  }

  /** A question about a grant, which has to find it. */
  private interface Question {
    void ask(LockStore store, Grant grant) throws Exception;
  }

  private Stream<Named<Question>> questions() {
    return Stream.of(
        Named.of(
            "renew",
            (store, grant) -> assertThat(store.renew(List.of(grant)))
                .containsExactly(new Renewal.Renewed(Claims.TTL))),
        Named.of("verify", (store, grant) -> assertThat(store.verify(grant)).isPresent()),
        Named.of(
            "extend",
            (store, grant) -> assertThat(store.extend(grant, Claims.TTL)).isPresent()),
        Named.of(
            "release",
            (store, grant) ->
                assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED)),
        Named.of(
            "forceRelease",
            (store, grant) -> assertThat(store.forceRelease(grant.claim().key(), grant.number()))
                .isTrue()),
        Named.of("withdraw", (store, grant) -> {
          store.withdraw(grant.claim());
          assertThat(Stored.isTaken(next, Stored.keyOf(grant.claim().key()))).isFalse();
        }));
  }

  @MethodSource("questions")
  @ParameterizedTest
  void thatAGrantIsNotThereIsNotBelievedOfAConnectionThatLeadsToTheFormerServer(Question question)
      throws Exception {
    List<Connection> early = connections(2);
    move();
    Grant fresh = grant();
    assertThat(Stored.isTaken(next, Stored.keyOf(fresh.claim().key()))).isTrue();
    early.forEach(Connection::close);

    question.ask(store, fresh);
  }

  @Test
  void aGuardedWriteIsMadeWhereTheAddressLeadsNow() throws Exception {
    List<Connection> early = connections(2);
    move();
    try (LockClient locks = RedisLocks.builder(redis).build();
        Lease lease = locks.get(Claims.freshKey().name()).lock()) {
      early.forEach(Connection::close);
      String written = "written:" + lease.name();
      RedisGuard.of(lease).set(written, "1");
      assertThat(next.get(written)).isEqualTo("1");
      assertThat(lease.isHeld()).isTrue();
    }
  }

  @Test
  void onceThePoolIsSeenToLeadToTheFormerServerItLeadsThereNoMore() throws Exception {
    List<Connection> early = connections(2);
    move();
    Grant fresh = grant();
    early.forEach(Connection::close);
    assertThat(store.renew(List.of(fresh))).containsExactly(new Renewal.Renewed(Claims.TTL));

    for (Connection connection : connections(POOL_SIZE)) {
      connection.sendCommand(Protocol.Command.EXISTS, Stored.keyOf(fresh.claim().key()));
      assertThat(connection.getIntegerReply()).isEqualTo(1);
      connection.close();
    }
  }

  @Test
  void aServerThatWasDemotedDoesNotSayWhoHasALock() throws Exception {
    Grant old = grant();
    move();
    Stores.send(former, Protocol.Command.REPLICAOF, "127.0.0.1", "1");

    assertThat(store.verify(old)).isEmpty();
    connectionsTo(servers.address(0));
    assertThat(store.tryAcquire(Claims.claim(old.claim().key())))
        .as("free by now")
        .isPresent();
  }

  @Test
  void whatWasAnsweredCountsThoughNoNewConnectionCanBeOpenedToAskAboutTheRest() throws Exception {
    Grant held = grant();
    Grant gone = grant();
    assertThat(store.release(gone, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    // Again if the answers came too late to count as prompt.
    Await.until("only what was to be asked anew is unknown", () -> {
      address.moveTo(servers.address(0).getHost(), servers.address(0).getPort());
      assertThat(store.renew(List.of(held))).hasSize(1); // leaves a connection in the pool
      address.moveTo("127.0.0.1", Ports.free());
      List<Renewal> renewals = store.renew(List.of(gone, held));
      return renewals.get(0) instanceof Renewal.Unknown
          && renewals.get(1).equals(new Renewal.Renewed(Claims.TTL));
    });
  }

  @Test
  void aServerThatWasDemotedCostsNothingOnceTheAddressLeadsToAnother() throws Exception {
    connections(2).forEach(Connection::close);
    move();
    Stores.send(former, Protocol.Command.REPLICAOF, "127.0.0.1", "1");

    Grant fresh = grant();
    assertThat(store.renew(List.of(fresh))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(store.release(fresh, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  @Test
  void whoWaitsHearsFromWhereTheAddressLeadsWithinAMinute() throws Exception {
    MovableTime time = new MovableTime();
    StoreSettings settings =
        new StoreSettings("waits", Stores.STORE_TIMEOUT, time, Claims.NO_EVENTS);
    try (LockStore waiting = RedisLocks.builder(redis).openStore(settings);
        LockStore there = Stores.open(next)) {
      Grant before = grant();
      Stores.Waiter first = Stores.Waiter.join(waiting, before.claim().key());
      first.awaitHearing();
      move();
      redis.getPool().clear();
      Grant held = there.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Stores.Waiter second = Stores.Waiter.join(waiting, held.claim().key());
      time.pass(OwnConnection.AGE_MAX.plusSeconds(1));
      // Polls are what keeps a subscription alive.
      Await.until("hears", () -> {
        assertThat(second.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
        return second.woken().drainPermits() > 0;
      });

      assertThat(there.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      second.awaitCall();
      assertThat(second.ticket().poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  /** Connections of the pool that lead where the address leads now; to be given back. */
  private List<Connection> connections(int count) {
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Connection connection = redis.getPool().getResource();
      connection.sendCommand(Protocol.Command.PING);
      assertThat(connection.getStatusCodeReply()).isEqualTo("PONG");
      connections.add(connection);
    }
    return connections;
  }

  /** Has the pool lend a connection to that server next, while the address leads to the other. */
  private void connectionsTo(HostAndPort server) {
    address.moveTo(server.getHost(), server.getPort());
    redis.getPool().clear();
    connections(2).forEach(Connection::close);
    move();
  }

  private Grant grant() throws Exception {
    return store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
  }
}
