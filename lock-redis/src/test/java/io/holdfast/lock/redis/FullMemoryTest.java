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
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** A server whose memory is full grants nothing, and what is held can be let go. */
class FullMemoryTest {

  @Test
  void whatIsHeldIsFreedHandedOverOrKeptForItsMinimumHold() throws Exception {
    try (ServerContainer server =
            ServerContainer.start(Image.REDIS, "--save", "", "--maxmemory-policy", "noeviction");
        RedisClient redis = RedisAccess.client(Stores.address(server), 8)) {
      LockStore store = Stores.open(redis);
      LockStore others = Stores.open(redis);
      LockKey freed = Claims.freshKey();
      LockKey forced = Claims.freshKey();
      LockKey awaited = Claims.freshKey();
      LockKey kept = Claims.freshKey();
      Grant toBeFreed = store.tryAcquire(Claims.claim(freed)).orElseThrow();
      Grant toBeForced = store.tryAcquire(Claims.claim(forced)).orElseThrow();
      Grant toBeHandedOver = store.tryAcquire(Claims.claim(awaited)).orElseThrow();
      Grant toBeKept = store.tryAcquire(Claims.claim(kept)).orElseThrow();
      Ticket waiter =
          ((Acquisition.Queued) others.acquireOrQueue(Claims.claim(awaited), () -> {})).ticket();

      redis.configSet("maxmemory", "1");

      assertThatThrownBy(() -> store.tryAcquire(Claims.claim(Claims.freshKey())))
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
