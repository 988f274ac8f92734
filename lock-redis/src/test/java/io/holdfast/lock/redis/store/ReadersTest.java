package io.holdfast.lock.redis.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.redis.Stored;
import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** Readers and writers of one key, beyond what the kit can see. */
class ReadersTest {
  private static final Duration SHORT = Duration.ofSeconds(3);

  private final LockKey key = Claims.freshKey();
  private RedisClient redis;
  private PermitStore store;
  private PermitStore other;

  @BeforeEach
  void open() throws Exception {
    redis = Stores.client();
    store = Stores.open(redis);
    other = Stores.open(redis);
    listen(store);
    listen(other);
  }

  /** Has a store hear of hand-overs, as it does from when its first waiter waits. */
  private static void listen(PermitStore store) throws Exception {
    LockKey key = Claims.freshKey();
    Grant grant = store.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter first = Stores.Waiter.join(store, Claims.claim(key));
    Await.until("hears", () -> first.woken().drainPermits() > 0);
    first.ticket().close();
    release(store, grant);
  }

  @AfterEach
  void close() {
    store.close();
    other.close();
    redis.close();
  }

  private static Claim toRead(LockKey key, Duration ttl) {
    return new Claim(
        key, Claim.SHARED, Claims.freshOwnerId(), ttl, Duration.ZERO, "a reader | of a test");
  }

  private Grant read(PermitStore reader, Duration ttl) throws StoreException {
    return reader.tryAcquire(toRead(key, ttl)).orElseThrow();
  }

  private Grant read(PermitStore reader) throws StoreException {
    return read(reader, Claims.TTL);
  }

  private boolean isTakenForWriters() throws StoreException {
    return other.tryAcquire(Claims.claim(key)).isEmpty();
  }

  private static void release(PermitStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  @Test
  void aReadIsOneScriptAndItsReleaseAnotherWhoeverReads() throws Exception {
    try (ServerContainer server = ServerContainer.start(Image.REDIS);
        RedisClient alone = Stores.client(Stores.address(server), 2);
        PermitStore counted = Stores.open(alone)) {
      release(counted, read(counted));
      for (int others = 0; others < 3; others++) {
        long scripts = Stores.calls(alone, "evalsha");
        for (int i = 0; i < 10; i++) {
          release(counted, read(counted));
        }
        assertThat(Stores.calls(alone, "evalsha") - scripts).isEqualTo(20);
        Grant unused = read(counted);
      }
      assertThat(Stores.calls(alone, "publish")).isZero();
      assertThat(alone.keys("*")).containsExactly(Stored.keyOf(key));
    }
  }

  @Test
  void readersAreToldTogetherAndAWriterWhenTheLastOneLeaves() throws Exception {
    Grant written = store.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter first = Stores.Waiter.join(other, toRead(key, Claims.TTL));
    Stores.Waiter second = Stores.Waiter.join(store, toRead(key, Claims.TTL));
    Stores.Waiter writer = Stores.Waiter.join(other, Claims.claim(key));
    Stores.Waiter last = Stores.Waiter.join(store, toRead(key, Claims.TTL));

    release(store, written);

    Grant one = first.handedOver();
    Grant two = second.handedOver();
    assertThat(List.of(one.number(), two.number())).allMatch(number -> number > written.number());
    assertThat(writer.woken().availablePermits()).isZero();
    release(store, two);
    assertThat(writer.woken().availablePermits()).isZero();
    release(other, one);
    Grant next = writer.handedOver();
    assertThat(next.number()).isGreaterThan(one.number()).isGreaterThan(two.number());
    assertThat(last.woken().availablePermits()).isZero();
    release(other, next);
    release(store, last.handedOver());
    assertThat(redis.lrange(Stored.keyOf(key), 0, -1)).hasSize(1);
  }

  @Test
  void aReaderBehindDeadWritersEntersWithThoseBehindIt() throws Exception {
    Grant inside = read(store);
    Stores.Waiter gone = Stores.Waiter.join(other, Claims.claim(key));
    Stores.Waiter dead = Stores.Waiter.join(other, Claims.claim(key));
    Stores.Waiter first = Stores.Waiter.join(store, toRead(key, Claims.TTL));
    Stores.Waiter second = Stores.Waiter.join(other, toRead(key, Claims.TTL));
    gone.ticket().close();
    assertThat(first.woken().availablePermits()).isZero();
    dead.ticket().close();
    release(store, first.handedOver());
    release(other, second.handedOver());
    release(store, inside);
  }

  @Test
  void moreReadersThanAreReadAtOnceAreAllReadAndEachEndsByItself() throws Exception {
    for (int readers : new int[] {49, 50, 51, 100, 101}) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < readers; i++) {
        grants.add(read(store));
      }
      assertThat(store.readers(key)).hasSize(readers);
      // The first in the list, the last, and one in the middle, beside a line.
      Stores.Waiter writer = Stores.Waiter.join(other, Claims.claim(key));
      for (int index : new int[] {readers - 1, readers / 2, 0}) {
        Grant grant = grants.remove(index);
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
        release(store, grant);
        assertThat(store.verify(grant)).isEmpty();
      }
      for (Grant grant : grants) {
        assertThat(writer.woken().availablePermits()).isZero();
        release(store, grant);
      }
      release(other, writer.handedOver());
    }
  }

  @Test
  void theKeyEndsWithTheLastReaderAndNobodyElsesEndIsMoved() throws Exception {
    Grant crashed = read(store, SHORT);
    Grant kept = read(store);
    assertThat(Stored.leftMillis(redis, Stored.keyOf(key))).isGreaterThan(SHORT.toMillis());
    release(store, kept);
    assertThat(Stored.leftMillis(redis, Stored.keyOf(key)))
        .as("lowered by who leaves")
        .isBetween(0L, SHORT.toMillis());
    assertThat(store.verify(crashed)).as("who does not").isPresent();
    kept = read(other);
    assertThat(isTakenForWriters()).isTrue();
    Grant reader = kept;
    Await.until("the crashed one's time is over", () -> {
      assertThat(other.renew(List.of(reader))).containsExactly(new Renewal.Renewed(Claims.TTL));
      return store.verify(crashed).isEmpty();
    });
    assertThat(other.readers(key)).extracting(StoredHolder::number).containsExactly(kept.number());
    release(other, kept);
    assertThat(isTakenForWriters()).isFalse();
  }

  @Test
  void readersWhoseTimeIsOverAreTakenOverByAWriterAndTheirReleasesChangeNothing() throws Exception {
    Grant first = read(store);
    Grant second = read(other);
    Stored.lapse(redis, Stored.keyOf(key));
    assertThat(store.inspect(key)).isEmpty();
    assertThat(store.readers(key)).isEmpty();
    assertThat(store.renew(List.of(first))).containsExactly(new Renewal.Lost());
    assertThat(store.extend(first, Claims.TTL)).isEmpty();
    Grant written = other.tryAcquire(Claims.claim(key)).orElseThrow();
    assertThat(written.number()).isGreaterThan(second.number());
    assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(store.renew(List.of(second))).containsExactly(new Renewal.Lost());
    store.withdraw(first.claim());
    assertThat(other.verify(written)).isPresent();
    release(other, written);
    assertThat(redis.lrange(Stored.keyOf(key), 0, -1)).hasSize(1);
  }

  @Test
  void whoMovesToAServerWithAnotherClockKeepsTheTimeThatIsLeft() throws Exception {
    for (Duration behind : List.of(Duration.ofMinutes(-5), Duration.ofMinutes(5))) {
      Grant shorter = read(store, SHORT);
      Grant longer = read(store);
      moveFromAServerWhoseClockIs(behind);
      assertThat(store.verify(shorter).orElseThrow()).isBetween(Duration.ofMillis(500), SHORT);
      assertThat(store.verify(longer).orElseThrow()).isBetween(SHORT, Claims.TTL);
      moveFromAServerWhoseClockIs(behind);
      // The first to write sets all of them right.
      assertThat(store.renew(List.of(longer))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.verify(shorter).orElseThrow()).isBetween(Duration.ofMillis(1), SHORT);
      assertThat(isTakenForWriters()).isTrue();
      moveFromAServerWhoseClockIs(behind);
      release(store, longer);
      assertThat(store.verify(shorter).orElseThrow()).isBetween(Duration.ofMillis(1), SHORT);
      moveFromAServerWhoseClockIs(behind);
      Grant next = read(other);
      assertThat(store.verify(shorter).orElseThrow()).isBetween(Duration.ofMillis(1), SHORT);
      Await.until("its time is over", () -> store.verify(shorter).isEmpty());
      assertThat(other.verify(next)).isPresent();
      release(other, next);
    }
  }

  /**
   * As MIGRATE does, which carries the time that the key has left, and what is in it as it is: so
   * the ends are by the clock of the server that it came from.
   */
  private void moveFromAServerWhoseClockIs(Duration behind) {
    String stored = Stored.keyOf(key);
    List<String> entries = redis.lrange(stored, 0, -1);
    for (int i = 0; i < entries.size(); i++) {
      String[] parts = entries.get(i).split("\\|", 7);
      if (parts[0].equals("g")) {
        parts[4] = Long.toString(Long.parseLong(parts[4]) - behind.toMillis());
        assertThat(redis.lset(stored, i, String.join("|", parts))).isEqualTo("OK");
      }
    }
  }

  @Test
  void whatIsReadIsRenewedFreedAndHandedOverThoughTheMemoryIsFull() throws Exception {
    try (ServerContainer server =
            ServerContainer.start(Image.REDIS, "--save", "", "--maxmemory-policy", "noeviction");
        RedisClient full = Stores.client(Stores.address(server), 8)) {
      PermitStore reading = Stores.open(full);
      listen(reading);
      Grant first = read(reading);
      Grant second = read(reading);
      Stores.Waiter writer = Stores.Waiter.join(reading, Claims.claim(key));
      Stores.Waiter reader = Stores.Waiter.join(reading, toRead(key, Claims.TTL));

      full.configSet("maxmemory", "1");

      assertThat(reading.renew(List.of(first))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(reading.extend(first, Duration.ofMinutes(2)).orElseThrow())
          .isGreaterThan(Claims.TTL);
      release(reading, first);
      assertThat(reading.forceRelease(key, second.number())).isTrue();
      Grant written = writer.handedOver();
      release(reading, written);
      assertThat(reading.verify(reader.handedOver())).isPresent();
      full.configSet("maxmemory", "0");
      reading.close();
    }
  }

  @Test
  void readersWhoAreInsideAreShownAndNoneThatWait() throws Exception {
    assertThat(store.readers(key)).isEmpty();
    Grant written = store.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiting = Stores.Waiter.join(other, toRead(key, Claims.TTL));
    assertThat(store.readers(key)).as("while a writer is inside").isEmpty();
    assertThat(store.list(LockKind.MUTEX, key.name(), 10))
        .extracting(StoredLock::waiting)
        .containsExactly(OptionalInt.of(1));
    release(store, written);
    Grant first = waiting.handedOver();
    Grant second = read(store);
    Stores.Waiter unused = Stores.Waiter.join(other, Claims.claim(key));
    assertThat(store.readers(key))
        .extracting(StoredHolder::number)
        .containsExactlyInAnyOrder(first.number(), second.number());
    StoredLock lock = store.list(LockKind.MUTEX, key.name(), 10).get(0);
    assertThat(lock.holder().description()).isEqualTo("a reader | of a test");
    assertThat(lock.waiting()).hasValue(1);
    assertThat(store.forceRelease(key, second.number())).isTrue();
    assertThat(store.forceRelease(key, second.number())).isFalse();
    assertThat(store.readers(key)).extracting(StoredHolder::number).containsExactly(first.number());
    assertThat(other.verify(first)).isPresent();
  }

  @Test
  void grantsOfALaterVersionBlockAndAreLeftAlone() throws Exception {
    Grant first = read(store);
    String stored = Stored.keyOf(key);
    String unknown = "g2|of a later version";
    redis.rpush(stored, unknown);
    release(store, first);
    assertThat(other.tryAcquire(toRead(key, Claims.TTL))).isEmpty();
    assertThat(isTakenForWriters()).isTrue();
    assertThat(redis.lindex(stored, 1)).isEqualTo(unknown);

    assertThat(redis.lset(stored, 0, "-|s|1|3600000|r")).isEqualTo("OK");
    List<String> before = redis.lrange(stored, 0, -1);
    assertThat(other.tryAcquire(toRead(key, Claims.TTL))).isEmpty();
    assertThat(isTakenForWriters()).isTrue();
    assertThat(redis.lrange(stored, 0, -1)).isEqualTo(before);
  }
}
