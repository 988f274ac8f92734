package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.redis.server.Wire;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** Requests whose answers come late, and connections that give none. */
class SlowServerTest {
  private static final int THREADS = 4;

  private FaultProxy way;
  private RedisClient redis;
  private LockStore store;
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

  @BeforeEach
  void open() throws Exception {
    HostAndPort server = Stores.sharedServer();
    way = FaultProxy.open(server.getHost(), server.getPort());
    // Its socket timeout is shorter than the answers take: the store timeout counts.
    redis = RedisAccess.kitClient(new HostAndPort(way.host(), way.port()), THREADS);
    store = Stores.open(redis);
  }

  @AfterEach
  void close() {
    threads.shutdownNow();
    store.close();
    redis.close();
    way.close();
  }

  @Test
  void anAnswerCountsHoweverLongAfterItsCopyWasSent() throws Exception {
    Duration late = Stores.STORE_TIMEOUT.dividedBy(2);
    Grant grant = grant();
    // The server knows the scripts from now on, so each takes one round trip.
    assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(store.verify(grant)).isPresent();
    assertThat(store.release(grant(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    way.delay(Link.Direction.REPLIES, late);
    assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(store.verify(grant)).isPresent();
    assertThat(store.release(grant(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    way.heal();
    assertThat(store.verify(grant)).isPresent();
  }

  @Test
  void silentConnectionsAreReplacedAndTheirRequestsShareOneForTheCopies() throws Exception {
    List<Connection> idle = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      idle.add(redis.getPool().getResource());
    }
    idle.forEach(Connection::close);
    long before = way.connectionsMade();
    way.silence();

    List<Future<Grant>> grants = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      grants.add(threads.submit(this::grant));
    }
    for (Future<Grant> grant : grants) {
      grant.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
    Await.until("given back", () -> redis.getPool().getNumActive() == 0);
    // One in place of each at most, and one for all copies.
    assertThat(way.connectionsMade() - before).isLessThanOrEqualTo(THREADS + 1);
  }

  @Test
  void aRenewalDoesNotWaitForAReleaseThatGetsNoAnswer() throws Exception {
    Grant first = grant();
    Grant second = grant();
    Grant renewed = grant();
    List<Connection> lent = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      lent.add(redis.getPool().getResource());
    }
    try {
      // On our own connections, as the pool has none.
      assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      way.silence();
      Future<ReleaseOutcome> release = threads.submit(() -> store.release(second, Duration.ZERO));
      Await.until("the release waits for its answer", SlowServerTest::isAnswerAwaited);
      assertThat(store.renew(List.of(renewed))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(release).isNotDone();
      assertThat(release.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isEqualTo(ReleaseOutcome.RELEASED);
    } finally {
      lent.forEach(Connection::close);
    }
  }

  private static boolean isAnswerAwaited() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(frame -> frame.getClassName().equals(Wire.class.getName())
            && frame.getMethodName().equals("exchange"));
  }

  private Grant grant() throws Exception {
    return store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
  }
}
