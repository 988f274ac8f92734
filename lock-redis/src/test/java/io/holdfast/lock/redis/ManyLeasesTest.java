package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.Response;

/** Ten thousand leases of one client. */
@Tag("soak")
class ManyLeasesTest {
  private static final int LEASES = 10_000;
  private static final int PERIODS = 6;
  private static final long LOOK_EVERY_MILLIS = 500;

  @Test
  void noneOfTenThousandLeasesIsRenewedLaterThanHalfItsTtl() throws Exception {
    try (RedisClient redis = Stores.client();
        LockClient locks = RedisLocks.builder(redis)
            .defaultOptions(LockOptions.renewed(Claims.TTL))
            .build()) {
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < LEASES; i++) {
        leases.add(locks.get(Claims.freshKey().name()).lock());
      }
      List<String> names = leases.stream().map(Lease::name).toList();

      Duration least = leastLeft(redis, names, Claims.TTL.multipliedBy(PERIODS).dividedBy(3));

      assertThat(leases).allMatch(Lease::isHeld);
      assertThat(least).isGreaterThanOrEqualTo(Claims.TTL.dividedBy(2));
      leases.forEach(Lease::close);
    }
  }

  /** The least that the server had left of any of them, while looking at them for that long. */
  private static Duration leastLeft(RedisClient redis, List<String> names, Duration lookFor)
      throws InterruptedException {
    List<String> keys = names.stream().map(Stored::keyOf).toList();
    long leastMillis = Long.MAX_VALUE;
    long until = System.nanoTime() + lookFor.toNanos();
    while (System.nanoTime() - until < 0) {
      List<Response<Long>> left = new ArrayList<>();
      try (AbstractPipeline pipeline = redis.pipelined()) {
        keys.forEach(key -> left.add(pipeline.pttl(key)));
        pipeline.sync();
      }
      for (Response<Long> one : left) {
        leastMillis = Math.min(leastMillis, one.get() - RedisLocks.NUMBERS_KEPT.toMillis());
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_EVERY_MILLIS);
    }
    System.out.printf("many: the least that was left of %s: %d ms%n", Claims.TTL, leastMillis);
    return Duration.ofMillis(leastMillis);
  }
}
