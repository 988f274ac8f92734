package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.scenario.Scenario;
import io.holdfast.lock.bench.scenario.Share;
import io.holdfast.lock.redis.RedisLocks;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import redis.clients.jedis.RedisClient;

/** The candidates on Redis. */
final class RedisCandidates {
  private RedisCandidates() {}

  static List<Candidate> all() {
    return Candidate.list(
        List.of(
            Candidate.floor(
                "floor", "SET NX PX + script", RedisClient.class, Scenario.ONE_JVM, BareRedis::new),
            Candidate.floor(
                "floor-wake",
                "SET NX PX + script + PUBLISH",
                RedisClient.class,
                Scenario.SEVERAL_JVMS,
                BareRedisWithWake::new)),
        HoldfastClient.candidates(
            url -> RedisLocks.builder(RedisClient.create(URI.create(url))),
            RedisLocks.Builder::build),
        redisson("redisson", "Redisson RLock", Scenario.ALL, RedissonClient::getLock),
        redisson(
            "redisson-fenced", "Redisson RFencedLock", Scenario.ALL, RedissonClient::getFencedLock),
        redisson(
            "redisson-fair",
            "Redisson fair lock",
            Scenario.ALL_BUT_1000_WAITERS,
            RedissonClient::getFairLock),
        redisson(
            "redisson-reads",
            "Redisson RReadWriteLock",
            Scenario.READING,
            redisson -> Client.reading(redisson::getReadWriteLock)),
        redisson(
            "redisson-read-write",
            "Redisson RReadWriteLock",
            Scenario.MOSTLY_READING,
            redisson -> Client.mostlyReading(redisson::getReadWriteLock)),
        redisson(
            "redisson-permits",
            "Redisson RPermitExpirableSemaphore",
            Scenario.OF_PERMITS,
            redisson -> name -> new ExpirablePermit(redisson, name)),
        redisson(
            "redisson-semaphore",
            "Redisson RSemaphore",
            Scenario.OF_PERMITS,
            RedisCandidates::semaphores),
        spring("spring", "Spring Integration", RedisLockType.SPIN_LOCK),
        spring("spring-pub-sub", "Spring Integration, pub/sub", RedisLockType.PUB_SUB_LOCK),
        Candidate.peer(
            "shedlock",
            "ShedLock",
            RedisLockProvider.class,
            Scenario.FREE,
            RedisCandidates::shedLock));
  }

  private static Candidate redisson(
      String id,
      String label,
      Set<Scenario> scenarios,
      BiFunction<RedissonClient, String, Lock> lock) {
    return redisson(
        id, label, scenarios, redisson -> Client.of(name -> lock.apply(redisson, name)));
  }

  private static Candidate redisson(
      String id, String label, Set<Scenario> scenarios, Function<RedissonClient, Client> client) {
    return Candidate.peer(id, label, RedissonClient.class, scenarios, url -> {
      Config config = new Config();
      config.useSingleServer().setAddress(url);
      return client.apply(Redisson.create(config));
    });
  }

  /** Permits that whoever dies keeps for ever. */
  private static Client semaphores(RedissonClient redisson) {
    return name -> {
      RSemaphore semaphore = redisson.getSemaphore(name);
      semaphore.trySetPermits(Scenario.PERMITS);
      return Mutex.of(semaphore::acquire, semaphore::release, Share.permitOf(Scenario.PERMITS));
    };
  }

  /** One thread's handle on permits that expire. */
  private static final class ExpirablePermit implements Mutex {
    private static final Duration TTL = Duration.ofSeconds(30);

    private final RPermitExpirableSemaphore semaphore;
    private @Nullable String permit;

    ExpirablePermit(RedissonClient redisson, String name) {
      semaphore = redisson.getPermitExpirableSemaphore(name);
      semaphore.trySetPermits(Scenario.PERMITS);
    }

    @Override
    public void lock() throws InterruptedException {
      permit = semaphore.acquire(TTL.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void unlock() {
      semaphore.release(Objects.requireNonNull(permit));
    }

    @Override
    public Share share() {
      return Share.permitOf(Scenario.PERMITS);
    }
  }

  private static LettuceConnectionFactory lettuce(String url) {
    URI uri = URI.create(url);
    LettuceConnectionFactory factory = new LettuceConnectionFactory(uri.getHost(), uri.getPort());
    factory.afterPropertiesSet();
    factory.start();
    return factory;
  }

  private static Candidate spring(String id, String label, RedisLockType type) {
    return Candidate.peer(id, label, RedisLockRegistry.class, Scenario.ALL_BUT_LEASES, url -> {
      RedisLockRegistry registry = new RedisLockRegistry(lettuce(url), "bench");
      registry.setRedisLockType(type);
      return Client.of(registry::obtain);
    });
  }

  private static Client shedLock(String url) {
    return new ShedLockClient(new RedisLockProvider(lettuce(url), "bench"));
  }
}
