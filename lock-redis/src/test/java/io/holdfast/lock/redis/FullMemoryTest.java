package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** A server whose memory is full grants nothing, and what is held can be let go. */
class FullMemoryTest {

  @Test
  void whatIsHeldIsFreedHandedOverOrKeptForItsMinimumHold() throws Exception {
    try (RedisContainer server = RedisContainer.start(
            RedisContainer.REDIS, "--save", "", "--maxmemory-policy", "noeviction");
        RedisClient redis = RedisAccess.client(server.address(), 8)) {
      LockStore store = Stores.open(redis);
      LockStore others = Stores.open(redis);
      LockKey freed = Stores.freshKey();
      LockKey forced = Stores.freshKey();
      LockKey awaited = Stores.freshKey();
      LockKey kept = Stores.freshKey();
      Grant toBeFreed = store.tryAcquire(Stores.claim(freed)).orElseThrow();
      Grant toBeForced = store.tryAcquire(Stores.claim(forced)).orElseThrow();
      Grant toBeHandedOver = store.tryAcquire(Stores.claim(awaited)).orElseThrow();
      Grant toBeKept = store.tryAcquire(Stores.claim(kept)).orElseThrow();
      Ticket waiter =
          ((Acquisition.Queued) others.acquireOrQueue(Stores.claim(awaited), () -> {})).ticket();

      redis.configSet("maxmemory", "1");

      assertThatThrownBy(() -> store.tryAcquire(Stores.claim(Stores.freshKey())))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("OOM");
      assertThat(store.renew(List.of(toBeFreed))).hasSize(1);
      assertThat(store.release(toBeFreed, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.inspect(freed)).isEmpty();
      assertThat(store.forceRelease(forced, toBeForced.number())).isTrue();
      assertThat(store.release(toBeKept, Duration.ofSeconds(10)))
          .isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.inspect(kept).orElseThrow().released()).isTrue();
      assertThat(store.release(toBeHandedOver, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.inspect(awaited).orElseThrow().number())
          .isGreaterThan(toBeHandedOver.number());

      redis.configSet("maxmemory", "0");
      waiter.close();
      store.close();
      others.close();
    }
  }
}
