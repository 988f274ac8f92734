package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.RedisGuard;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.redis.Stored;
import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import io.holdfast.lock.testsupport.StandingTime;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/**
 * The commands that each call of the mutex sends, and those of its scripts, as sent.txt has them.
 * It is there to be read, and so that no change of code changes what locks send without being seen.
 */
class SentTest {
  /** So long that no request counts as silent, after which it would be sent once more. */
  private static final Duration STORE_TIMEOUT = Duration.ofMinutes(1);

  private static final Duration TTL = Duration.ofMinutes(2);
  private static final Duration WAIT = Duration.ofMillis(50);
  private static final Duration LONGER = Duration.ofMinutes(3);
  private static final String HOLDER = "a".repeat(32);
  private static final String WAITER = "b".repeat(32);
  private static final String OTHER = "c".repeat(32);
  private static final LockKey KEY = Claims.key("orders");

  private static final String CALLERS = "return redis.call('SET', KEYS[1], ARGV[1])";

  private static final Map<String, Script> SCRIPTS = new LinkedHashMap<>();

  static {
    SCRIPTS.put("check", Script.CHECK);
    SCRIPTS.put("acquire", Scripts.ACQUIRE.alone());
    SCRIPTS.put("renew", Scripts.RENEW.alone());
    SCRIPTS.put("extend", Scripts.EXTEND.alone());
    SCRIPTS.put("release", Script.RELEASE);
    SCRIPTS.put("withdraw", Script.WITHDRAW);
    SCRIPTS.put("look", Script.LOOK);
    SCRIPTS.put("scan", Script.SCAN);
    SCRIPTS.put("force-release", Script.FORCE_RELEASE);
    SCRIPTS.put("guard", Scripts.guarded(CALLERS).alone());
    SCRIPTS.put("commit-number", Script.COMMIT_NUMBER);
    SCRIPTS.put("check-distinct", Script.CHECK_DISTINCT);
  }

  @Test
  void eachCallSendsWhatTheFileHas() throws Exception {
    // A server of its own, to which nobody else sends anything.
    try (ServerContainer server = ServerContainer.start(Image.REDIS);
        RedisClient redis = Stores.client(Stores.address(server), 4);
        Sent sent = new Sent(Stores.address(server), redis)) {
      sent.scripts(SCRIPTS);
      sent.name(HOLDER, "<holder>");
      sent.name(WAITER, "<waiter>");
      sent.name(OTHER, "<other>");
      StoreSettings settings =
          new StoreSettings("test", STORE_TIMEOUT, new StandingTime(), Claims.NO_EVENTS);
      try (LockStore store =
          sent.by("build()", () -> Stores.open(RedisLocks.builder(redis), settings))) {
        holding(sent, store);
        line(sent, store);
        guard(sent, redis);
        unusual(sent, store, redis);
      }
      try (LockStore store =
          Stores.open(RedisLocks.builder(redis).waitForReplicas(1, WAIT), settings)) {
        sent.by(
            "tryLock() that waits for a replica, which is not there",
            () -> assertThatExceptionOfType(StoreException.class)
                .isThrownBy(() -> store.tryAcquire(claim(Claims.key("copied"), HOLDER))));
      }
      sent.check();
    }
  }

  private static void holding(Sent sent, LockStore store) throws Exception {
    Grant first = sent.by("tryLock() of a new name", () -> take(store, HOLDER));
    sent.by("tryLock() of a lock that is taken", () -> store.tryAcquire(claim(KEY, OTHER)));
    sent.by("close() of a lock that nobody waits for", () -> store.release(first, Duration.ZERO));
    Grant grant = sent.by("tryLock() of a lock that is free", () -> take(store, HOLDER));
    Grant second = store.tryAcquire(claim(Claims.key("stock"), OTHER)).orElseThrow();
    sent.by("Renewal of a lease", () -> store.renew(List.of(grant)));
    sent.by("Renewal of two leases", () -> store.renew(List.of(grant, second)));
    sent.by("extend()", () -> store.extend(grant, LONGER));
    sent.by("verify()", () -> store.verify(grant));
    sent.by("inspect()", () -> store.inspect(KEY));
    sent.by("list()", () -> store.list(LockKind.MUTEX, "ord", 10));
    sent.by("forceRelease()", () -> store.forceRelease(KEY, grant.number()));
    Grant again = sent.by(
        "lock() of a lock that is free",
        () -> ((Acquisition.Granted) store.acquireOrQueue(claim(KEY, HOLDER), () -> {})).grant());
    sent.by("close() that leaves a minimum hold", () -> store.release(again, TTL));
    store.release(second, Duration.ZERO);
  }

  private static void line(Sent sent, LockStore store) throws Exception {
    LockKey key = Claims.key("line");
    Grant grant = store.tryAcquire(claim(key, HOLDER)).orElseThrow();
    Semaphore woken = new Semaphore(0);
    Ticket waiter = sent.by("lock() of a lock that is taken: joins the line, and listens", () -> {
      Ticket joined = join(store, claim(key, WAITER), woken);
      // Woken once it hears.
      assertThat(woken.tryAcquire(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      return joined;
    });
    sent.by("A waiter's poll", waiter::poll);
    Ticket other = sent.by(
        "lock() of a lock that is taken, while another waits",
        () -> join(store, claim(key, OTHER), new Semaphore(0)));
    sent.by("close() that hands the lock over", () -> store.release(grant, Duration.ZERO));
    Grant handedOver = sent.by(
        "The poll of a waiter that the lock was handed over to",
        () -> ((Ticket.Granted) waiter.poll()).grant());
    sent.by("A waiter leaves the line", () -> {
      other.close();
      return other;
    });
    Ticket last = join(store, claim(key, OTHER), woken);
    sent.by(
        "close() that leaves a minimum hold while another waits",
        () -> store.release(handedOver, TTL));
    last.close();
  }

  private static void unusual(Sent sent, LockStore store, RedisClient redis) throws Exception {
    LockKey key = Claims.key("unusual");
    Claim claim = claim(key, HOLDER);
    Grant lapsed = store.tryAcquire(claim).orElseThrow();
    Stored.lapse(redis, Stored.keyOf(key));
    sent.by("Renewal of a lease whose time is over", () -> store.renew(List.of(lapsed)));
    sent.by(
        "tryLock() of a lock whose time is over",
        () -> store.tryAcquire(claim(key, OTHER)).orElseThrow());
    Ticket waiter = join(store, claim(key, WAITER), new Semaphore(0));
    Stored.lapse(redis, Stored.keyOf(key));
    sent.by(
        "tryLock() of a lock whose time is over while another waits: hands it over",
        () -> store.tryAcquire(claim));
    sent.by("Release after an acquire without an answer", () -> {
      store.withdraw(claim(key, WAITER));
      return waiter;
    });
    String unused = redis.scriptFlush();
    sent.by("tryLock() at a server that does not know the script", () -> store.tryAcquire(claim));
  }

  private static void guard(Sent sent, RedisClient redis) throws Exception {
    LockOptions fixed = LockOptions.fixed(TTL);
    try (LockClient locks = RedisLocks.builder(redis).build();
        Lease lease = locks.get("guarded", fixed).tryLock().orElseThrow()) {
      RedisGuard guard = RedisGuard.of(lease);
      sent.by("A guarded script", () -> guard.eval(CALLERS, List.of("stock"), List.of("9")));
    }
  }

  private static Claim claim(LockKey key, String ownerId) {
    return new Claim(key, Claim.EXCLUSIVE, ownerId, TTL, Duration.ZERO, "of a test");
  }

  private static Grant take(LockStore store, String ownerId) throws Exception {
    return store.tryAcquire(claim(KEY, ownerId)).orElseThrow();
  }

  private static Ticket join(LockStore store, Claim claim, Semaphore woken) throws Exception {
    return ((Acquisition.Queued) store.acquireOrQueue(claim, woken::release)).ticket();
  }
}
