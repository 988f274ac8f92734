package io.holdfast.lock.bench;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.redis.RedisLocks;
import java.net.URI;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import redis.clients.jedis.RedisClient;

/** Who is compared on Redis. */
final class RedisCandidates {
  private RedisCandidates() {}

  static List<Candidate> all() {
    return List.of(
        new Candidate(
            "floor",
            "floor: SET NX PX + script",
            Candidate.Role.FLOOR,
            RedisClient.class,
            Scenario.ONE_JVM,
            BareRedis::new),
        new Candidate(
            "floor-wake",
            "floor: SET NX PX + script + PUBLISH",
            Candidate.Role.FLOOR,
            RedisClient.class,
            Scenario.SEVERAL_JVMS,
            BareRedisWithWake::new),
        new Candidate(
            "holdfast",
            "Holdfast",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            Scenario.ALL,
            url -> holdfast(url, true)),
        new Candidate(
            "holdfast-no-hand-off",
            "Holdfast, local hand-off off",
            Candidate.Role.HOLDFAST,
            LockClient.class,
            java.util.EnumSet.of(Scenario.ONE_CLIENT, Scenario.FOUR_JVMS),
            url -> holdfast(url, false)),
        redisson("redisson", "Redisson RLock", RedissonClient::getLock),
        redisson("redisson-fenced", "Redisson RFencedLock", RedissonClient::getFencedLock),
        redisson("redisson-fair", "Redisson fair lock", RedissonClient::getFairLock),
        new Candidate(
            "spring",
            "Spring Integration",
            Candidate.Role.PEER,
            RedisLockRegistry.class,
            Scenario.ALL_BUT_LEASES,
            url -> spring(url, RedisLockType.SPIN_LOCK)),
        new Candidate(
            "spring-pub-sub",
            "Spring Integration, pub/sub",
            Candidate.Role.PEER,
            RedisLockRegistry.class,
            Scenario.ALL_BUT_LEASES,
            url -> spring(url, RedisLockType.PUB_SUB_LOCK)),
        new Candidate(
            "shedlock",
            "ShedLock",
            Candidate.Role.PEER,
            RedisLockProvider.class,
            Scenario.FREE,
            RedisCandidates::shedLock));
  }

  private static Client holdfast(String url, boolean localHandOff) {
    RedisClient driver = RedisClient.create(URI.create(url));
    return new HoldfastClient(
        RedisLocks.builder(driver).localHandOff(localHandOff).build());
  }

  private static Candidate redisson(
      String id, String label, BiFunction<RedissonClient, String, Lock> lock) {
    return new Candidate(
        id, label, Candidate.Role.PEER, RedissonClient.class, Scenario.ALL, url -> {
          Config config = new Config();
          config.useSingleServer().setAddress(url);
          RedissonClient redisson = Redisson.create(config);
          return new JavaLockClient(name -> lock.apply(redisson, name));
        });
  }

  private static LettuceConnectionFactory lettuce(String url) {
    URI uri = URI.create(url);
    LettuceConnectionFactory factory = new LettuceConnectionFactory(uri.getHost(), uri.getPort());
    factory.afterPropertiesSet();
    factory.start();
    return factory;
  }

  private static Client spring(String url, RedisLockType type) {
    LettuceConnectionFactory factory = lettuce(url);
    RedisLockRegistry registry = new RedisLockRegistry(factory, "bench");
    registry.setRedisLockType(type);
    return new JavaLockClient(registry::obtain);
  }

  private static Client shedLock(String url) {
    return new ShedLockClient(new RedisLockProvider(lettuce(url), "bench"));
  }
}
