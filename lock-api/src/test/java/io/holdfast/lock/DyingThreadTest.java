package io.holdfast.lock;

import static io.holdfast.lock.simulation.ScriptedStore.Op.RENEW;
import static io.holdfast.lock.simulation.TappedTime.Call.PARK;
import static io.holdfast.lock.simulation.TappedTime.Call.PARKED;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.TappedTime;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Threads that leave a queue by an error: a full heap, {@code Thread.stop}. What they had goes to
 * the next, and what they wanted they don't get (L-6.6).
 */
class DyingThreadTest extends EngineTest {
  private static final class Death extends Error {
    private static final long serialVersionUID = 1;
  }

  private final TappedTime tapped = new TappedTime(time);

  @Override
  protected synchronized SemaphoreClient client() {
    return client(builder -> builder.timeSource(tapped));
  }

  /** A thread that wants 'x', and dies at such a place in its wait. */
  private final class Mortal {
    private final AtomicReference<Throwable> end = new AtomicReference<>();
    private final Thread thread;

    Mortal(TappedTime.Tap tap) {
      this.thread = new Thread(() -> {
        tapped.tap(Thread.currentThread(), tap);
        try {
          Lease unused = lock("x").lock();
        } catch (Throwable e) {
          end.set(e);
        }
      });
      thread.setDaemon(true);
      thread.start();
    }

    void awaitParked() {
      Eventually.await(
          "the wait", () -> time.isParked(thread) && thread.getState() == Thread.State.WAITING);
    }

    void awaitDeath() throws InterruptedException {
      thread.join(10_000);
      assertThat(end.get()).isInstanceOf(Death.class);
    }
  }

  private Mortal dyingInsteadOfWaiting() {
    return new Mortal((call, nth) -> {
      if (call == PARK) {
        throw new Death();
      }
    });
  }

  private Mortal dyingWhenWoken() {
    Mortal mortal = new Mortal((call, nth) -> {
      if (call == PARKED) {
        throw new Death();
      }
    });
    mortal.awaitParked();
    return mortal;
  }

  private void assertNothingIsLeft() {
    Eventually.await("the name to be free", () -> store.holder("x").isEmpty());
    int renewals = store.count(RENEW);
    pass(AT_RENEWAL);
    assertThat(store.count(RENEW)).isEqualTo(renewals);
    assertThat(EngineProbe.kept(client())).isZero();
    others("x").tryLock().orElseThrow().close();
    held("x").close();
  }

  @Test
  void aThreadThatDiesInsteadOfWaitingIsHandedNothing() throws Exception {
    Lease lease = held("x");
    dyingInsteadOfWaiting().awaitDeath();
    lease.close();

    assertNothingIsLeft();
  }

  @Test
  void aThreadThatDiesWhileItWaitsIsHandedNothing() throws Exception {
    Lease lease = held("x");
    Mortal mortal = dyingWhenWoken();
    LockSupport.unpark(mortal.thread);
    mortal.awaitDeath();
    lease.close();

    assertNothingIsLeft();
  }

  @Test
  void aThreadThatDiesWhenItIsHandedTheLeasePassesItOn() throws Exception {
    Lease lease = held("x");
    Mortal mortal = dyingWhenWoken();
    Actor<Lease> next = start("next", () -> lock("x").lock()).awaitParked();
    lease.close();
    mortal.awaitDeath();

    Lease passedOn = next.result();
    assertThat(passedOn.isHeld()).isTrue();
    passedOn.close();
    assertNothingIsLeft();
  }

  @Test
  void aThreadThatDiesWhenItIsItsTurnLeavesThatToTheNext() throws Exception {
    client(builder -> builder.timeSource(tapped).localHandOff(false));
    Lease lease = held("x");
    Mortal mortal = dyingWhenWoken();
    Actor<Lease> next = start("next", () -> lock("x").lock()).awaitParked();
    lease.close();
    mortal.awaitDeath();

    Lease passedOn = next.result();
    assertThat(passedOn.isHeld()).isTrue();
    passedOn.close();
    assertNothingIsLeft();
  }

  @Test
  void aThreadThatDiesInTheStoresQueueLeavesIt() throws Exception {
    Lease others = others("x").lock();
    Mortal mortal = dyingWhenWoken();
    Actor<Lease> next = start("next", () -> lock("x").lock()).awaitParked();
    LockSupport.unpark(mortal.thread);
    mortal.awaitDeath();
    next.awaitParked();
    others.close();

    next.result().close();
    assertNothingIsLeft();
  }

  /** Whether it was granted nobody knows; if it was, that is given back. */
  @Test
  void aThreadThatDiesInAQuestionLeavesNothing() throws Exception {
    Gate gate = store.holdNextAnswer(io.holdfast.lock.simulation.ScriptedStore.Op.ACQUIRE_OR_QUEUE);
    Mortal mortal = new Mortal((call, nth) -> {});
    gate.awaitCall();
    gate.openWith(new Death());
    mortal.awaitDeath();
    settle();

    assertNothingIsLeft();
  }
}
