package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.PermitLease;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** Semaphores on a server. */
class PermitsTest {
  private static final Duration SHORT = Duration.ofSeconds(2);

  private RedisClient redis;
  private PermitStore first;
  private PermitStore second;

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

  private static LockKey freshKey() {
    return new LockKey(LockKind.PERMIT, Claims.freshKey().name());
  }

  private static Claim claim(LockKey key, int permits, Duration ttl) {
    return new Claim(
        key,
        new Claim.Permit(permits),
        UUID.randomUUID().toString().replace("-", ""),
        ttl,
        Duration.ZERO,
        "test | of permits");
  }

  private static Claim claim(LockKey key, int permits) {
    return claim(key, permits, Claims.TTL);
  }

  private static PermitGrant take(LockStore store, Claim claim) throws StoreException {
    return (PermitGrant) store.tryAcquire(claim).orElseThrow();
  }

  /** One that stands in line, and has begun to hear. */
  private static Stores.Waiter hearing(LockStore store, Claim claim) throws Exception {
    Stores.Waiter waiter = Stores.Waiter.join(store, claim);
    waiter.awaitHearing();
    return waiter;
  }

  private static PermitGrant handedOver(Stores.Waiter waiter) throws Exception {
    return (PermitGrant) waiter.handedOver();
  }

  @Test
  void aCycleIsTwoScriptsAndTheKeyIsOne() throws Exception {
    try (ServerContainer server = ServerContainer.start(Image.REDIS);
        RedisClient alone = RedisAccess.client(Stores.address(server), 2);
        SemaphoreClient locks = RedisLocks.builder(alone).build()) {
      String name = freshKey().name();
      locks.semaphore(name, 3).lock().close();
      long scripts = Stores.calls(alone, "evalsha");
      for (int i = 0; i < 20; i++) {
        locks.semaphore(name, 3).lock().close();
      }
      assertThat(Stores.calls(alone, "evalsha") - scripts).isEqualTo(40);
      assertThat(Stores.calls(alone, "publish")).isZero();
      assertThat(alone.keys("*")).containsExactly("holdfast:p:{" + name + "}");
      assertThat(alone.pttl("holdfast:p:{" + name + "}")).isPositive();
    }
  }

  @Test
  void permitsAreHandedOverInTheOrderOfJoiningAndWhoHearsOfItNeedNotPoll() throws Exception {
    LockKey key = freshKey();
    PermitGrant one = take(first, claim(key, 2));
    PermitGrant other = take(first, claim(key, 2));
    Stores.Waiter next = hearing(second, claim(key, 2));
    // Its client hears already.
    Stores.Waiter last = Stores.Waiter.join(second, claim(key, 2));
    assertThat(first.tryAcquire(claim(key, 2))).isEmpty();

    assertThat(first.release(other, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    PermitGrant handedOver = handedOver(next);
    assertThat(handedOver.permit()).isEqualTo(other.permit());
    assertThat(handedOver.number()).isGreaterThan(other.number());
    assertThat(last.woken().availablePermits()).isZero();
    assertThat(second.renew(List.of(handedOver))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(first.tryAcquire(claim(key, 2))).isEmpty();

    assertThat(first.release(one, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    PermitGrant second = handedOver(last);
    assertThat(second.permit()).isEqualTo(one.permit());
    assertThat(this.second.verify(second)).isPresent();
    assertThat(first.holders(key)).extracting(StoredPermit::permit).containsExactly(0, 1);
    assertThat(this.second.release(second, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(this.second.release(handedOver, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.holders(key)).isEmpty();
  }

  @Test
  void whatExpiredGoesToWhoWaitsAndNotPastTheLine() throws Exception {
    LockKey key = freshKey();
    PermitGrant crashed = take(first, claim(key, 1, SHORT));
    Stores.Waiter waiter = hearing(second, claim(key, 1));
    Await.until("the crashed holder's time is over", () -> first.holders(key).isEmpty());

    // Who asks now finds the line served.
    assertThat(first.tryAcquire(claim(key, 1))).isEmpty();
    PermitGrant grant = handedOver(waiter);
    assertThat(grant.number()).isGreaterThan(crashed.number());
    assertThat(first.verify(crashed)).isEmpty();
    assertThat(first.renew(List.of(crashed))).containsExactly(new Renewal.Lost());
    assertThat(first.release(crashed, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    assertThat(second.verify(grant)).isPresent();
  }

  @Test
  void whoTakesAPermitWhileAnotherIsFreeHasTheNextInLineServed() throws Exception {
    LockKey key = freshKey();
    Duration minHold = Duration.ofSeconds(1);
    PermitGrant one = take(first, claim(key, 2));
    PermitGrant other = take(first, claim(key, 2));
    Stores.Waiter next = hearing(second, claim(key, 2));
    Stores.Waiter last = Stores.Waiter.join(second, claim(key, 2));
    assertThat(first.release(one, minHold)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.release(other, minHold)).isEqualTo(ReleaseOutcome.RELEASED);
    Await.until("both minimum holds are over", () -> first.holders(key).isEmpty());
    assertThat(last.woken().availablePermits()).isZero();

    assertThat(next.ticket().poll()).isInstanceOf(Ticket.Granted.class);
    assertThat(handedOver(last).permit()).isEqualTo(1);
  }

  @Test
  void aRequestThatIsSentTwiceTakesOnePermit() throws Exception {
    LockKey key = freshKey();
    Claim claim = claim(key, 3);
    PermitGrant once = take(first, claim);
    PermitGrant twice = take(second, claim);
    assertThat(twice.permit()).isEqualTo(once.permit());
    assertThat(twice.number()).isEqualTo(once.number());
    assertThat(first.holders(key)).hasSize(1);
    first.withdraw(claim);
    first.withdraw(claim);
    assertThat(first.holders(key)).isEmpty();
  }

  @Test
  void aFixedLeaseIsExtendedAndAMinimumHoldKeepsThePermit() throws Exception {
    LockKey key = freshKey();
    PermitGrant held = take(first, claim(key, 1, SHORT));
    assertThat(first.extend(held, Claims.TTL).orElseThrow()).isGreaterThan(SHORT);
    assertThat(first.extend(held, SHORT).orElseThrow()).isGreaterThan(SHORT);
    assertThat(first.release(held, SHORT)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.holders(key)).singleElement().satisfies(of -> {
      StoredHolder holder = of.holder();
      assertThat(holder.released()).isTrue();
      assertThat(holder.description()).isEqualTo("test | of permits");
      assertThat(holder.remaining()).isLessThanOrEqualTo(SHORT);
    });
    assertThat(first.verify(held)).isEmpty();
    assertThat(second.tryAcquire(claim(key, 1))).isEmpty();
    List<Grant> next = new ArrayList<>();
    Await.until("the minimum hold is over", () -> {
      second.tryAcquire(claim(key, 1)).ifPresent(next::add);
      return !next.isEmpty();
    });
    assertThat(next.get(0).number()).isGreaterThan(held.number());
  }

  @Test
  void anotherNumberIsToldAndTakesOverWhenNothingIsHeldAndNobodyWaits() throws Exception {
    LockKey key = freshKey();
    PermitGrant held = take(first, claim(key, 1));
    Stores.Waiter waiter = hearing(second, claim(key, 1));
    assertMismatch(key);
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertMismatch(key);
    assertThat(second.release(handedOver(waiter), Duration.ZERO))
        .isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(take(first, claim(key, 2)).number()).isGreaterThan(held.number());
  }

  private void assertMismatch(LockKey key) {
    assertThatThrownBy(() -> first.tryAcquire(claim(key, 2)))
        .isInstanceOfSatisfying(PermitsDifferException.class, e -> {
          assertThat(e.stored()).isEqualTo(1);
          assertThat(e.mayHaveHappened()).isFalse();
        });
  }

  @Test
  void locksOfBothKindsAreRenewedByTheirOwnScripts() throws Exception {
    redis.scriptFlush();
    LockKey key = freshKey();
    PermitGrant permit = take(first, claim(key, 2));
    Grant mutex = take(first, Claims.claim(Claims.freshKey()));
    redis.scriptFlush();
    assertThat(first.renew(List.of(mutex, permit, mutex)))
        .allMatch(Renewal.Renewed.class::isInstance);
  }

  @Test
  void whatIsHeldIsRenewedAndFreedThoughTheMemoryIsFull() throws Exception {
    try (ServerContainer server =
            ServerContainer.start(Image.REDIS, "--save", "", "--maxmemory-policy", "noeviction");
        RedisClient full = RedisAccess.client(Stores.address(server), 8)) {
      PermitStore store = Stores.open(full);
      LockKey key = freshKey();
      PermitGrant renewed = take(store, claim(key, 3));
      PermitGrant kept = take(store, claim(key, 3));
      PermitGrant handedOver = take(store, claim(key, 3));
      Stores.Waiter waiter = hearing(store, claim(key, 3));

      full.configSet("maxmemory", "1");

      assertThatThrownBy(() -> store.tryAcquire(claim(freshKey(), 1)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("OOM");
      assertThat(store.tryAcquire(claim(key, 3))).as("nobody's permit is free").isEmpty();
      assertThat(store.renew(List.of(renewed))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.extend(renewed, Duration.ofMinutes(2)).orElseThrow())
          .isGreaterThan(Claims.TTL);
      assertThat(store.release(handedOver, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.verify(handedOver(waiter))).isPresent();
      assertThat(store.release(kept, Duration.ofSeconds(10))).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.forceRelease(key, renewed.number())).isTrue();
      assertThat(store.holders(key))
          .extracting(held -> held.holder().released())
          .containsExactlyInAnyOrder(true, false);
      full.configSet("maxmemory", "0");
      store.close();
    }
  }

  @Test
  void aGuardedWriteIsMadeUnderItsOwnLease() {
    String name = freshKey().name();
    String value = "{" + name + "}value";
    try (SemaphoreClient locks = RedisLocks.builder(redis).build();
        PermitLease lease = locks.semaphore(name, 2).tryLock().orElseThrow()) {
      RedisGuard.of(lease).set(value, "1");
      RedisGuard.of(lease).hset(value + "h", "field", "1");
      assertThat(RedisGuard.of(lease)
              .eval("return redis.call('GET', KEYS[1])", List.of(value), List.of()))
          .isEqualTo("1");
    }
  }
}
