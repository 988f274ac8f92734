package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** A list of what is held, and since when. */
class ListTest {
  private static final int ALL = 10_000;

  private RedisClient redis;
  private LockStore store;
  private final String fresh = "list/" + UUID.randomUUID() + "/";

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

  private Grant hold(String name) throws StoreException {
    return hold(name, Claims.TTL);
  }

  private Grant hold(String name, Duration ttl) throws StoreException {
    return store.tryAcquire(Claims.claim(Claims.key(name), ttl)).orElseThrow();
  }

  private List<StoredLock> list(String namePrefix, int limit) throws StoreException {
    return store.list(LockKind.MUTEX, namePrefix, limit);
  }

  private List<String> names(String namePrefix) throws StoreException {
    return list(namePrefix, ALL).stream().map(lock -> lock.key().name()).toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*",
        "?",
        "[a]",
        "[",
        "]",
        "\\",
        "\\*",
        "^",
        "a-z",
        "{",
        "}",
        "{}",
        "}{",
        "%",
        "%7B",
        "%25",
        "ä",
        "\ud83d\ude00",
        " ",
        ":line"
      })
  void aPrefixMeansItsCharactersAndNothingElse(String part) throws Exception {
    List<String> within = List.of(fresh + part, fresh + part + "x", fresh + part + part);
    List<String> others = List.of(fresh + "x" + part, fresh + "a", fresh + "b", fresh + "x");
    for (String name : within) {
      hold(name);
    }
    for (String name : others) {
      hold(name);
    }
    assertThat(names(fresh + part)).containsExactlyInAnyOrderElementsOf(within);
    assertThat(names(fresh)).hasSize(7).containsAll(within).containsAll(others);
  }

  @Test
  void thePrefixIsOfTheNameAndNotOfHowItIsWritten() throws Exception {
    hold(fresh + "{a}");
    hold(fresh + "%a");
    assertThat(names(fresh + "%")).containsExactly(fresh + "%a");
    assertThat(names(fresh + "%7B")).isEmpty();
  }

  @Test
  void onlyWhatIsHeldIsListed() throws Exception {
    Grant released = hold(fresh + "released");
    assertThat(store.release(released, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    Grant expired = hold(fresh + "expired");
    Stored.lapse(redis, Stored.keyOf(expired.claim().key()));
    assertThat(names(fresh)).isEmpty();

    redis.set(RedisLocks.DEFAULT_PREFIX + ":m:{" + fresh + "strange}", "no value of ours");
    redis.set(RedisLocks.DEFAULT_PREFIX + ":m:{" + fresh + "%zz}", "no key of ours");
    Grant held = hold(fresh + "held");
    assertThat(names(fresh)).containsExactly(held.claim().key().name());
  }

  @Tag("each-jedis")
  @Test
  void aRowTellsWhoHasTheLockAndHowManyWait() throws Exception {
    Grant held = hold(fresh + "contended");
    hold(fresh + "quiet");
    try (LockStore second = Stores.open(redis);
        LockStore third = Stores.open(redis)) {
      Stores.Waiter one = Stores.Waiter.join(second, held.claim().key());
      Stores.Waiter two = Stores.Waiter.join(third, held.claim().key());
      StoredLock contended = list(fresh + "contended", 1).get(0);
      assertThat(contended.key()).isEqualTo(held.claim().key());
      assertThat(contended.waiting()).isEqualTo(OptionalInt.of(2));
      assertThat(contended.holder().number()).isEqualTo(held.number());
      assertThat(contended.holder().description()).isEqualTo(held.claim().holder());
      assertThat(contended.holder().released()).isFalse();
      assertThat(contended.holder().remaining()).isPositive().isLessThanOrEqualTo(Claims.TTL);
      assertThat(list(fresh + "quiet", 1).get(0).waiting()).isEqualTo(OptionalInt.of(0));
      one.ticket().close();
      two.ticket().close();
    }
  }

  @Test
  void aLockThatOnlyAMinimumHoldKeepsIsListedWithWhoWaitsForIt() throws Exception {
    Grant held = hold(fresh + "kept");
    assertThat(store.release(held, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
    try (LockStore other = Stores.open(redis)) {
      Stores.Waiter waiter = Stores.Waiter.join(other, held.claim().key());
      StoredLock kept = list(fresh, ALL).get(0);
      assertThat(kept.holder().released()).isTrue();
      assertThat(kept.holder().number()).isEqualTo(held.number());
      assertThat(kept.waiting()).isEqualTo(OptionalInt.of(1));
      waiter.ticket().close();
    }
  }

  @Test
  void manyLocksAreListedOnceEachAndNoMoreThanTheLimit() throws Exception {
    Set<String> held = new HashSet<>();
    for (int i = 0; i < 2_500; i++) {
      held.add(hold(fresh + i, Stores.LONG_TTL).claim().key().name());
    }
    assertThat(names(fresh)).containsExactlyInAnyOrderElementsOf(held);
    assertThat(names("")).containsAll(held).doesNotHaveDuplicates();
    assertThat(list(fresh, 7))
        .hasSize(7)
        .allMatch(lock -> held.contains(lock.key().name()))
        .doesNotHaveDuplicates();
    assertThat(list(fresh, 1)).hasSize(1);
  }

  @Test
  void anotherClientsPrefixHasOtherLocks() throws Exception {
    hold(fresh + "ours");
    try (LockStore other =
        RedisLocks.builder(redis).prefix("list:of-others").openStore(Stores.settings())) {
      assertThat(other.list(LockKind.MUTEX, fresh, ALL)).isEmpty();
    }
  }

  @Test
  void aServerWithTooManyKeysForTheTimeIsAFailureWithARemedy() throws Exception {
    try (LockStore hurried = RedisLocks.builder(redis)
        .openStore(new StoreSettings(
            "hurried", Duration.ofSeconds(2), TimeSource.system(), Claims.NO_EVENTS))) {
      Stores.send(redis, Protocol.Command.CLIENT, "PAUSE", "6000", "ALL");
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> hurried.list(LockKind.MUTEX, fresh, ALL))
          .withMessageContaining("PT2S")
          .withMessageContaining("longer storeTimeout");
      Await.until("goes on", () -> redis.ping().equals("PONG"));
    }
  }

  @Test
  void connectionsThatTheServerClosedAreNoFailure() throws Exception {
    Grant held = hold(fresh + "held");
    try (RedisClient other = Stores.client()) {
      Stores.send(other, Protocol.Command.CLIENT, "KILL", "TYPE", "normal");
    }
    assertThat(names(fresh)).containsExactly(held.claim().key().name());
  }

  @Test
  void theServersClockTellsSinceWhenALockIsHeld() throws Exception {
    Instant before = serverTime();
    Grant held = hold(fresh + "held");
    Instant after = serverTime();
    Instant since = store.inspect(held.claim().key()).orElseThrow().since();
    assertThat(since).isBetween(before, after);

    assertThat(store.extend(held, Claims.TTL.multipliedBy(2))).isPresent();
    assertThat(store.release(held, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(list(fresh, 1).get(0).holder().since()).isEqualTo(since);
  }

  @Test
  void aLockThatWasHandedOverIsHeldSinceThen() throws Exception {
    Grant held = hold(fresh + "held");
    try (LockStore other = Stores.open(redis)) {
      Stores.Waiter waiter = Stores.Waiter.join(other, held.claim().key());
      Instant before = serverTime();
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant next = waiter.awaitGrant();
      StoredHolder holder = store.inspect(held.claim().key()).orElseThrow();
      assertThat(holder.number()).isEqualTo(next.number());
      assertThat(holder.since()).isBetween(before, serverTime());
    }
  }

  private Instant serverTime() {
    List<String> parts = new ArrayList<>();
    try (Connection connection = redis.getPool().getResource()) {
      connection.sendCommand(Protocol.Command.TIME);
      parts.addAll(connection.getMultiBulkReply());
    }
    return Instant.ofEpochSecond(Long.parseLong(parts.get(0)))
        .plus(Long.parseLong(parts.get(1)), ChronoUnit.MICROS);
  }
}
