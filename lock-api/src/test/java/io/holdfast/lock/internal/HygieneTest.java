package io.holdfast.lock.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.ScriptedStore.Op;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Whatever happens to a name, nothing of it is left when it is over. */
class HygieneTest extends EngineTest {
  private static final List<Op> FAILING =
      List.of(Op.TRY_ACQUIRE, Op.ACQUIRE_OR_QUEUE, Op.POLL, Op.LEAVE, Op.RELEASE);

  private void assertNothingIsLeft() {
    EngineClient engine = (EngineClient) client();
    Eventually.await("the queues to go", () -> engine.parts.queues().all().isEmpty());
    assertThat(EngineProbe.kept(client())).isZero();
  }

  @Test
  void tenThousandNamesLeaveNothing() throws Exception {
    for (int i = 0; i < 10_000; i++) {
      String name = "x" + i;
      Lease lease = i % 2 == 0 ? held(name) : lock(name).lock();
      held(name).close();
      lease.close();
    }

    assertNothingIsLeft();
    assertThat(server.size()).isZero();
  }

  @Test
  void whatExpiresOrIsHeldForAMinimumLeavesNothingAtTheServerEither() {
    for (int i = 0; i < 1_000; i++) {
      held("min" + i, LockOptions.defaults().withMinHold(Duration.ofSeconds(1))).close();
    }
    time.advance(Duration.ofSeconds(1));
    for (int i = 0; i < 1_000; i++) {
      Lease lease = held("x" + i, LockOptions.fixed(TTL));
      time.advance(TTL);
      assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    }

    assertNothingIsLeft();
    assertThat(server.size()).isLessThan(1_000);
  }

  @Test
  void failuresLeaveNothing() {
    for (Op op : List.of(Op.TRY_ACQUIRE, Op.ACQUIRE_OR_QUEUE)) {
      for (int i = 0; i < 10; i++) {
        String name = "x" + i;
        store.next(op, call -> {
          throw new NoClassDefFoundError("gone");
        });
        assertThatThrownBy(() -> {
              Lease unused = op == Op.TRY_ACQUIRE ? held(name) : lock(name).lock();
            })
            .isInstanceOf(NoClassDefFoundError.class);
        store.failNext(op);
        assertThatThrownBy(() -> {
              Lease unused = op == Op.TRY_ACQUIRE ? held(name) : lock(name).lock();
            })
            .isInstanceOf(LockException.class);
      }
    }
    assertNothingIsLeft();
  }

  @Test
  void lossesLeaveNothingOnceEveryHandleIsClosed() {
    Lease outer = held("x");
    Lease nested = held("x");
    store.events().lost(store.grant("x"), LeaseLoss.Reason.TAKEN);
    assertThatThrownBy(outer::close).isInstanceOf(LockLostException.class);
    assertThat(((EngineClient) client()).parts.queues().all()).hasSize(1);
    assertThatThrownBy(nested::close).isInstanceOf(LockLostException.class);
    outer.close();

    assertNothingIsLeft();
  }

  @Test
  void guardsLeaveNothing() {
    for (int i = 0; i < 3; i++) {
      Lease lease = held("x");
      LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class);
      assertThatThrownBy(lease::close).isInstanceOf(IllegalStateException.class);
      if (i == 1) {
        pass(TTL);
      }
      guard.close();
      Eventually.await("the name", () -> store.holder("x").isEmpty());
      assertNothingIsLeft();
    }
  }

  @Test
  void aFailedReentryThatRacesTheCloseOfTheOuterLeaseLeavesNothing() throws Exception {
    for (int i = 0; i < 300; i++) {
      Actor<Boolean> reentering = start("reentering", () -> {
        Lease outer = held("x");
        store.events().suspended(store.grant("x"));
        time.jumpWallClock(Duration.ofHours(1));
        store.failNext(Op.VERIFY);
        store.failNext(Op.RENEW);
        Actor<Boolean> closing = start("closing", () -> {
          outer.close();
          return true;
        });
        try {
          lock("x").lock().close();
        } catch (LockException e) {
          assertThat(e.lockName()).isEqualTo("x");
        }
        return closing.result();
      });
      assertThat(reentering.result()).isTrue();
      store.heal();
      Eventually.await("the name", () -> store.holder("x").isEmpty());
    }
    settle();
    assertNothingIsLeft();
  }

  @Test
  void aThousandRandomLivesLeaveNothing() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      List<Actor<Boolean>> actors = new ArrayList<>();
      for (int t = 0; t < 5; t++) {
        String name = "x" + random.nextInt(2);
        int life = random.nextInt(6);
        actors.add(start("actor " + t, () -> live(name, life)));
      }
      actors.get(random.nextInt(5)).interrupt();
      if (random.nextInt(4) == 0) {
        store.failNext(FAILING.get(random.nextInt(FAILING.size())));
      }
      for (Actor<Boolean> actor : actors) {
        while (!actor.isDone()) {
          time.advance(Duration.ofMillis(1));
          LockSupport.parkNanos(100_000);
        }
        try {
          assertThat(actor.result()).as("seed %s", seed).isTrue();
        } catch (InterruptedException | LockException e) {
          assertThat(e).isNotNull();
        }
      }
    }
    // What failed last is put right in the background, and once more a little later.
    store.heal();
    for (int i = 0; i < 3; i++) {
      pass(Duration.ofMillis(500));
    }
    assertNothingIsLeft();
    Eventually.await(
        "both names", () -> store.holder("x0").isEmpty() && store.holder("x1").isEmpty());
  }

  private boolean live(String name, int life) throws InterruptedException {
    switch (life) {
      case 0 -> lock(name).tryLock().ifPresent(Lease::close);
      case 1 -> lock(name).tryLock(Duration.ofMillis(3)).ifPresent(Lease::close);
      case 2 -> {
        try (Lease lease = lock(name).lock();
            Lease nested = lock(name).lock()) {
          assertThat(nested.token()).isEqualTo(lease.token());
        }
      }
      case 3 -> lock(name).run(lease -> time.advance(Duration.ofMillis(40)));
      case 4 -> lock(name).lock().detach().close();
      default -> {
        Lock lock = lock(name).asLock();
        lock.lock();
        try {
          Thread.onSpinWait();
        } finally {
          lock.unlock();
        }
      }
    }
    return true;
  }
}
