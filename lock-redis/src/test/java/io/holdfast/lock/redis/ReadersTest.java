package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** Readers beside the mutex of the same name, on a server. */
class ReadersTest {
  private static final Duration SHORT = Duration.ofSeconds(2);

  /** Of two scripts, which are commands themselves: the mutex's are nine. */
  private static final int COMMANDS_PER_CYCLE = 12;

  private final LockKey write = Stores.freshKey();
  private final LockKey read = new LockKey(LockKind.READ, write.name());
  private final String list = Stored.keyOf(write);
  private RedisClient redis;
  private LockStore first;
  private LockStore second;

  @BeforeEach
  void open() throws Exception {
    redis = Stores.client();
    first = Stores.open(redis);
    second = Stores.open(redis);
  }

  @AfterEach
  void close() {
    first.close();
    second.close();
    redis.close();
  }

  private static Claim claim(LockKey key, Duration ttl) {
    return new Claim(
        key,
        UUID.randomUUID().toString().replace("-", ""),
        ttl,
        Duration.ZERO,
        "test | of readers");
  }

  private static Claim claim(LockKey key) {
    return claim(key, Stores.TTL);
  }

  private Grant reader(LockStore store) throws StoreException {
    return store.tryAcquire(claim(read)).orElseThrow();
  }

  private Grant writer(LockStore store) throws StoreException {
    return store.tryAcquire(claim(write)).orElseThrow();
  }

  private static void release(LockStore store, Grant grant) throws StoreException {
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  private List<Long> numbers() throws StoreException {
    return first.holders(read).stream().map(StoredHolder::number).toList();
  }

  /** A claim that stands in line, and what woke it. */
  private record Waiter(Claim claim, Ticket ticket, Semaphore woken) {
    static Waiter join(LockStore store, Claim claim) throws Exception {
      Semaphore woken = new Semaphore(0);
      Ticket ticket = ((Acquisition.Queued) store.acquireOrQueue(claim, woken::release)).ticket();
      return new Waiter(claim, ticket, woken);
    }

    /** Who begins to hear is woken once, to look by itself. */
    Waiter hearing() throws Exception {
      Stores.await("hears", () -> woken.drainPermits() > 0);
      assertWaits();
      return this;
    }

    void assertWaits() throws Exception {
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(ticket.handedOver()).isEmpty();
      assertThat(woken.availablePermits()).isZero();
    }

    Grant handedOver() throws Exception {
      assertThat(woken.tryAcquire(Stores.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isTrue();
      return ticket.handedOver().orElseThrow();
    }
  }

  @Test
  void aCycleIsTwoScriptsAndTheKeyIsTheMutexs() throws Exception {
    try (RedisContainer server = RedisContainer.start(RedisContainer.REDIS);
        RedisClient alone = RedisAccess.client(server.address(), 2);
        LockClient locks = RedisLocks.builder(alone).build()) {
      DistributedLock lock = locks.readWrite(read.name()).read();
      lock.lock().close();
      long scripts = Stores.calls(alone, "evalsha");
      long commands = Stores.calls(alone);
      for (int i = 0; i < 20; i++) {
        lock.lock().close();
      }
      // The last questions are among them.
      assertThat(Stores.calls(alone) - commands).isEqualTo(20 * COMMANDS_PER_CYCLE + 1);
      assertThat(Stores.calls(alone, "evalsha") - scripts).isEqualTo(40);
      assertThat(Stores.calls(alone, "publish")).isZero();
      assertThat(alone.keys("*")).containsExactly(list);
      assertThat(alone.pttl(list)).isPositive();
      // And the mutex finds it as it left it itself: free, in its own form.
      assertThat(Stored.grant(alone, list)).startsWith("-|f|1");
    }
  }

  @Test
  void readersThatFollowEachOtherEnterTogetherAndNobodyPassesAWriter() throws Exception {
    Grant held = writer(first);
    Waiter one = Waiter.join(second, claim(read)).hearing();
    Waiter two = Waiter.join(second, claim(read));
    Waiter writer = Waiter.join(second, claim(write));
    Waiter last = Waiter.join(second, claim(read));

    release(first, held);
    Grant grantOne = one.handedOver();
    Grant grantTwo = two.handedOver();
    assertThat(grantTwo.number()).isGreaterThan(grantOne.number());
    assertThat(grantOne.number()).isGreaterThan(held.number());
    assertThat(second.renew(List.of(grantOne, grantTwo)))
        .containsOnly(new Renewal.Renewed(Stores.TTL))
        .hasSize(2);
    assertThat(first.tryAcquire(claim(read))).as("past a writer that waits").isEmpty();
    writer.assertWaits();
    last.assertWaits();

    release(second, grantTwo);
    writer.assertWaits();
    release(second, grantOne);
    Grant written = writer.handedOver();
    assertThat(written.number()).isGreaterThan(grantTwo.number());
    last.assertWaits();
    assertThat(second.release(grantOne, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(second.verify(written)).isPresent();

    release(second, written);
    Grant grantLast = last.handedOver();
    Grant beside = reader(first);
    assertThat(numbers()).containsExactly(grantLast.number(), beside.number());
    release(second, grantLast);
    release(first, beside);
    assertThat(first.holders(read)).isEmpty();
    assertThat(redis.llen(list)).isEqualTo(1);
  }

  @Test
  void aWriterThatGivesUpOrDiesLetsTheReadersBehindItIn() throws Exception {
    Grant held = reader(first);
    Waiter givesUp = Waiter.join(second, claim(write)).hearing();
    Waiter reader = Waiter.join(second, claim(read));
    reader.assertWaits();
    givesUp.ticket().close();
    Grant entered = reader.handedOver();
    assertThat(numbers()).containsExactly(held.number(), entered.number());

    Waiter dies = Waiter.join(second, claim(write));
    Waiter behind = Waiter.join(second, claim(read));
    redis.lset(list, 1, redis.lindex(list, 1).replaceFirst("\\|\\d+", "|1"));
    assertThat(dies.woken().availablePermits()).isZero();
    // Whoever renews finds it.
    assertThat(first.renew(List.of(held))).containsExactly(new Renewal.Renewed(Stores.TTL));
    assertThat(second.verify(behind.handedOver())).isPresent();
  }

  @Test
  void aReaderThatCrashedKeepsWritersOutForItsOwnTimeWhateverOthersRenew() throws Exception {
    Grant crashed = first.tryAcquire(claim(read, SHORT)).orElseThrow();
    Grant renewed = reader(second);
    Stores.await("the crashed reader's time is over", () -> {
      assertThat(second.renew(List.of(renewed))).containsExactly(new Renewal.Renewed(Stores.TTL));
      return numbers().size() == 1;
    });
    assertThat(numbers()).containsExactly(renewed.number());
    assertThat(first.verify(crashed)).isEmpty();
    assertThat(first.renew(List.of(crashed))).containsExactly(new Renewal.Lost());
    release(second, renewed);
    release(first, writer(first));

    // Nor is it shorter than its own.
    Grant stays = first.tryAcquire(claim(read, SHORT)).orElseThrow();
    Grant leaves = reader(second);
    release(second, leaves);
    assertThat(first.verify(stays).orElseThrow()).isLessThanOrEqualTo(SHORT);
    assertThat(second.tryAcquire(claim(write))).isEmpty();
    long leftMillis = Stored.leftMillis(redis, list);
    assertThat(leftMillis).isBetween(0L, SHORT.toMillis());
    Stores.await("the writer's turn", () -> second.tryAcquire(claim(write)).isPresent());
    assertThat(first.verify(stays)).isEmpty();
  }

  @Test
  void aRequestThatIsSentTwiceIsOneReader() throws Exception {
    Claim claim = claim(read);
    Grant once = first.tryAcquire(claim).orElseThrow();
    Grant other = reader(second);
    Grant twice = second.tryAcquire(claim).orElseThrow();
    assertThat(twice.number()).isEqualTo(once.number());
    assertThat(numbers()).containsExactly(once.number(), other.number());
    first.withdraw(claim);
    first.withdraw(claim);
    assertThat(numbers()).containsExactly(other.number());
    first.withdraw(other.claim());
    assertThat(Stored.grant(redis, list)).startsWith("-|f|" + other.number());
  }

  @Test
  void aMinimumHoldOfAReaderKeepsWritersOutAndLetsReadersIn() throws Exception {
    Grant held = first.tryAcquire(claim(read, SHORT)).orElseThrow();
    assertThat(first.extend(held, Stores.TTL).orElseThrow()).isGreaterThan(SHORT);
    assertThat(first.extend(held, SHORT).orElseThrow()).isGreaterThan(SHORT);
    assertThat(first.release(held, SHORT)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.verify(held)).isEmpty();
    assertThat(first.inspect(write).orElseThrow().released()).isTrue();
    assertThat(second.tryAcquire(claim(write))).isEmpty();
    Grant beside = reader(second);
    assertThat(numbers()).containsExactly(held.number(), beside.number());
    release(second, beside);
    assertThat(second.tryAcquire(held.claim())).as("a late request").isEmpty();
    Waiter late = Waiter.join(second, held.claim());
    Grant renewing = reader(second);
    assertThat(second.renew(List.of(renewing))).containsExactly(new Renewal.Renewed(Stores.TTL));
    assertThat(numbers()).as("a late request to wait").hasSize(2).contains(held.number());
    late.ticket().close();
    release(second, renewing);
    Stores.await(
        "the minimum hold is over", () -> second.tryAcquire(claim(write)).isPresent());
  }

  @Test
  void eachReaderIsShownAndCanBeTakenAwayByEitherKey() throws Exception {
    Grant one = reader(first);
    Grant two = reader(second);
    Grant three = reader(second);
    assertThat(first.holders(write))
        .extracting(StoredHolder::number)
        .containsExactlyElementsOf(numbers());
    assertThat(numbers()).containsExactly(one.number(), two.number(), three.number());
    for (LockKey key : List.of(read, write)) {
      StoredHolder holder = first.inspect(key).orElseThrow();
      assertThat(holder.number()).isEqualTo(one.number());
      assertThat(holder.description()).isEqualTo("test | of readers");
    }
    assertThat(first.list(LockKind.MUTEX, write.name(), 10))
        .singleElement()
        .extracting(StoredLock::key)
        .isEqualTo(write);
    assertThat(first.forceRelease(write, one.number())).isTrue();
    assertThat(first.forceRelease(write, one.number())).isFalse();
    assertThat(numbers()).containsExactly(two.number(), three.number());
    assertThat(first.forceRelease(read, three.number())).isTrue();
    Waiter waiter = Waiter.join(first, claim(write)).hearing();
    assertThat(waiter.ticket().holder()).contains("test | of readers");
    assertThat(second.forceRelease(write, two.number())).isTrue();
    Grant written = waiter.handedOver();
    assertThat(numbers()).containsExactly(written.number());
    assertThat(second.forceRelease(read, written.number())).isTrue();
    assertThat(first.holders(write)).isEmpty();
  }

  @Test
  void numbersRiseOverBothKindsThoughTheClockWasSetBack() throws Exception {
    long last = 8_000_000_000_000_000L;
    Stored.setNumber(redis, list, last);
    for (int i = 0; i < 3; i++) {
      Grant one = reader(first);
      Grant two = reader(first);
      assertThat(one.number()).isEqualTo(last + 1);
      assertThat(two.number()).isEqualTo(last + 2);
      release(first, two);
      release(first, one);
      Grant written = writer(first);
      assertThat(written.number()).isEqualTo(last + 3);
      release(first, written);
      last += 3;
    }
  }

  @Test
  void locksOfAllKindsAreRenewedByTheirOwnScripts() throws Exception {
    Grant reader = reader(first);
    Grant mutex = first.tryAcquire(Stores.claim(Stores.freshKey())).orElseThrow();
    redis.scriptFlush();
    assertThat(first.renew(List.of(mutex, reader, mutex)))
        .allMatch(Renewal.Renewed.class::isInstance);
  }

  @Tag("one-jdk")
  @Test
  void aFullServerLetsNoReaderInAndWhatIsHeldIsRenewedAndFreed() throws Exception {
    try (RedisContainer server = RedisContainer.start(
            RedisContainer.REDIS, "--save", "", "--maxmemory-policy", "noeviction");
        RedisClient full = RedisAccess.client(server.address(), 8)) {
      LockStore store = Stores.open(full);
      Grant renewed = reader(store);
      Grant kept = reader(store);
      Grant released = reader(store);
      Waiter writer = Waiter.join(store, claim(write)).hearing();
      Waiter behind = Waiter.join(store, claim(read));
      LockKey readByOne = new LockKey(LockKind.READ, Stores.freshKey().name());
      Grant alone = store.tryAcquire(claim(readByOne)).orElseThrow();

      full.configSet("maxmemory", "1");

      for (LockKey key : List.of(new LockKey(LockKind.READ, Stores.freshKey().name()), readByOne)) {
        assertThatThrownBy(() -> store.tryAcquire(claim(key)))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("OOM");
      }
      assertThat(store.holders(readByOne)).hasSize(1);
      release(store, alone);
      assertThat(store.renew(List.of(renewed))).containsExactly(new Renewal.Renewed(Stores.TTL));
      assertThat(store.extend(renewed, Duration.ofMinutes(2)).orElseThrow())
          .isGreaterThan(Stores.TTL);
      release(store, released);
      assertThat(store.release(kept, Duration.ofSeconds(1))).isEqualTo(ReleaseOutcome.RELEASED);
      Stores.await("the minimum hold is over", () -> store.holders(read).size() == 1);
      release(store, renewed);
      Grant written = ((Ticket.Granted) writer.ticket().poll()).grant();
      release(store, written);
      assertThat(store.verify(behind.handedOver())).isPresent();
      full.configSet("maxmemory", "0");
      store.close();
    }
  }

  @Test
  void aGuardedWriteIsMadeUnderItsOwnLease() {
    String value = "{" + read.name() + "}value";
    try (LockClient locks = RedisLocks.builder(redis).build();
        LockClient others = RedisLocks.builder(redis).build();
        Lease other = others.readWrite(read.name()).read().tryLock().orElseThrow();
        Lease lease = locks.readWrite(read.name()).read().tryLock().orElseThrow()) {
      RedisGuard.on(lease).set(value, "1");
      RedisGuard.on(lease).hset(value + "h", "field", "1");
      assertThat(RedisGuard.on(other)
              .eval("return redis.call('GET', KEYS[1])", List.of(value), List.of()))
          .isEqualTo("1");
    }
  }

  /** The mutex's scripts as they were before there were readers. */
  private Object without(String script, String... arguments) {
    return redis.eval(
        Script.of("without-readers/" + script).text(), List.of(list), List.of(arguments));
  }

  private static String ownerId() {
    return Stores.claim(Stores.freshKey()).ownerId();
  }

  @Test
  void toClientsThatKnowOfNoReadersTheLockIsTakenByAnother() throws Exception {
    Grant one = reader(first);
    Grant two = reader(second);
    String owner = ownerId();
    String other = ownerId();
    List<Object> queued = new ArrayList<>();
    assertThat(without("acquire", owner, "30000", "3600000", "old")).isInstanceOf(List.class);
    queued.add(
        without("acquire", owner, "30000", "3600000", "old", "60000|3000|1|holdfast:inbox:none"));
    assertThat(queued).allMatch(List.class::isInstance);
    assertThat(without("look")).isInstanceOf(List.class);
    assertThat(without("withdraw", other)).isEqualTo(0L);
    assertThat(without("force-release", Long.toString(two.number()))).isEqualTo(0L);
    assertThat(without("force-release", Long.toString(one.number()))).isEqualTo(0L);
    assertThat(numbers()).containsExactly(one.number(), two.number());
    assertThat(second.tryAcquire(claim(read))).as("past a writer that waits").isEmpty();

    release(first, one);
    assertThat(without("acquire", other, "30000", "3600000", "old")).isInstanceOf(List.class);
    release(second, two);
    assertThat(first.holders(write)).singleElement().satisfies(holder -> {
      assertThat(holder.description()).isEqualTo("old");
      assertThat(holder.number()).isGreaterThan(two.number());
    });
    assertThat(second.tryAcquire(claim(read))).isEmpty();
    assertThat(without("release", owner)).isEqualTo(1L);
    assertThat(without("acquire", other, "30000", "3600000", "old")).isInstanceOf(Long.class);
  }

  @Test
  void readersWhoseTimeIsOverAreSucceededByClientsThatKnowOfNone() throws Exception {
    Grant crashed = reader(first);
    Stored.lapse(redis, list);
    Object number = without("acquire", ownerId(), "30000", "3600000", "old");
    assertThat((Long) number).isGreaterThan(crashed.number());
    assertThat(first.renew(List.of(crashed))).containsExactly(new Renewal.Lost());
    assertThat(first.release(crashed, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
  }

  @Test
  void aReaderThatWasHandedTheLockByAClientThatKnowsOfNoneLetsTheNextIn() throws Exception {
    for (boolean renews : new boolean[] {true, false}) {
      String owner = ownerId();
      assertThat(without("acquire", owner, "30000", "3600000", "old")).isInstanceOf(Long.class);
      Waiter one = Waiter.join(second, claim(read));
      Waiter two = Waiter.join(second, claim(read));
      Stores.await("they hear", () -> one.woken().drainPermits() + two.woken().drainPermits() > 0);
      one.ticket().poll();
      two.ticket().poll();
      one.woken().drainPermits();
      two.woken().drainPermits();
      assertThat(without("release", owner)).isEqualTo(1L);
      Grant grantOne = one.handedOver();
      assertThat(first.tryAcquire(claim(write))).isEmpty();
      assertThat(first.tryAcquire(claim(read)))
          .as("it has the lock alone at first")
          .isEmpty();
      if (renews) {
        assertThat(second.renew(List.of(grantOne)))
            .containsExactly(new Renewal.Renewed(Stores.TTL));
      } else {
        release(second, grantOne);
      }
      Grant grantTwo = two.handedOver();
      assertThat(grantTwo.number()).isGreaterThan(grantOne.number());
      if (renews) {
        assertThat(numbers()).containsExactly(grantOne.number(), grantTwo.number());
        release(second, grantOne);
      }
      release(second, grantTwo);
      assertThat(first.holders(read)).isEmpty();
    }
  }
}
