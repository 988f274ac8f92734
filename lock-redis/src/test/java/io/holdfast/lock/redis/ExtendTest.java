package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.RedisClient;

/** More time for a lease that stands, and nothing for one that does not. */
class ExtendTest {
  private static final Duration LONGER = Claims.TTL.multipliedBy(4);
  private static final Duration SHORTER = Claims.TTL.dividedBy(3);

  /** The longest time that passes between two questions. */
  private static final Duration MEANWHILE = Duration.ofSeconds(8);

  private RedisClient redis;
  private LockStore store;
  private final LockKey key = Claims.freshKey();
  private final String stored = Stored.keyOf(key);

  @BeforeEach
  void open() throws Exception {
    redis = Stores.client();
    store = Stores.open(redis);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  @Test
  void aLeaseThatStandsGetsTheTimeAndItsNumberIsKeptLonger() throws Exception {
    Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();

    assertThat(store.extend(held, LONGER)).hasValue(LONGER);
    assertThat(store.verify(held).orElseThrow()).isBetween(LONGER.minus(MEANWHILE), LONGER);
    assertThat(redis.pttl(stored))
        .isGreaterThan(TimeUnit.HOURS.toMillis(1) + LONGER.minus(MEANWHILE).toMillis());
    assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(Stored.isTaken(redis, stored)).isFalse();
  }

  @Test
  void aLeaseIsNeverShortened() throws Exception {
    Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
    assertThat(store.extend(held, LONGER)).isPresent();
    long kept = redis.pttl(stored);

    assertThat(store.extend(held, SHORTER).orElseThrow())
        .isBetween(LONGER.minus(MEANWHILE), LONGER);
    assertThat(store.verify(held).orElseThrow()).isBetween(LONGER.minus(MEANWHILE), LONGER);
    assertThat(redis.pttl(stored)).isBetween(kept - MEANWHILE.toMillis(), kept);
  }

  @Test
  void anAcquireThatComesOnceMoreDoesNotShortenWhatWasExtended() throws Exception {
    Claim claim = Claims.claim(key);
    Grant held = store.tryAcquire(claim).orElseThrow();
    assertThat(store.extend(held, LONGER)).isPresent();

    assertThat(store.tryAcquire(claim).orElseThrow().number()).isEqualTo(held.number());
    assertThat(store.verify(held).orElseThrow()).isGreaterThan(Claims.TTL);
    assertThat(redis.pttl(stored))
        .isGreaterThan(TimeUnit.HOURS.toMillis(1) + Claims.TTL.toMillis());
  }

  @Test
  void aLeaseThatOthersWaitForIsExtendedAndThenHandedOver() throws Exception {
    Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
    try (LockStore other = Stores.open(redis)) {
      Stores.Waiter waiter = Stores.Waiter.join(other, key);
      assertThat(store.extend(held, LONGER)).isPresent();
      assertThat(store.verify(held).orElseThrow()).isGreaterThan(Claims.TTL);
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(waiter.awaitGrant().number()).isGreaterThan(held.number());
    }
  }

  @Test
  void anApplicationThatHasExhaustedItsPoolCanExtend() throws Exception {
    Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
    List<Connection> all = new ArrayList<>();
    try {
      while (all.size() < redis.getPool().getMaxTotal()) {
        all.add(redis.getPool().getResource());
      }
      assertThat(store.extend(held, LONGER)).hasValue(LONGER);
    } finally {
      all.forEach(Connection::close);
    }
  }

  @Test
  void itIsOneScript() throws Exception {
    // A server of its own: the others' clients may still be tidying up.
    try (ServerContainer server = ServerContainer.start(Image.REDIS);
        RedisClient alone = RedisAccess.client(Stores.address(server), 2);
        LockStore asking = Stores.open(alone)) {
      Grant held = asking.tryAcquire(Claims.claim(key)).orElseThrow();
      assertThat(asking.extend(held, LONGER)).isPresent();
      long scripts = Stores.calls(alone, "evalsha");
      for (int i = 0; i < 10; i++) {
        assertThat(asking.extend(held, LONGER.plusSeconds(i))).isPresent();
      }
      assertThat(Stores.calls(alone, "evalsha") - scripts).isEqualTo(10);
    }
  }
}
