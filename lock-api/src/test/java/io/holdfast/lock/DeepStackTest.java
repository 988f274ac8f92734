package io.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.simulation.Actor;
import io.holdfast.lock.simulation.EngineTest;
import io.holdfast.lock.simulation.Eventually;
import io.holdfast.lock.simulation.Gate;
import io.holdfast.lock.simulation.MonitorStore;
import io.holdfast.lock.simulation.TappedTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Calls by a thread whose stack overflows in their midst, wherever that is: afterwards all names
 * are free again, in the same client too.
 */
class DeepStackTest extends EngineTest {
  private static final long STACK_BYTES = 512 * 1024;
  private static final int CALLS_MAX = 1_000;

  /** So many calls that succeed one after the other tell that there is enough stack again. */
  private static final int SUCCESSES = 40;

  private final TappedTime tapped = new TappedTime(time);
  private final MonitorStore monitor = new MonitorStore(time);
  private final LockClient client =
      opened(monitor.client().clientName("deep").timeSource(tapped).build());
  private final LockClient other = opened(monitor.client().clientName("other").build());
  private Lease canary;

  /** Loads each class before: one that is loaded at the end of the stack is another matter. */
  @BeforeEach
  void makeEachSortOfCallOnce() throws Exception {
    Lease waitedFor = client.get("warm").tryLock().orElseThrow();
    assertThat(start("waiter", () -> client.get("warm").tryLock()).result()).isEmpty();
    Actor<Lease> waiter = start("waiter", () -> client.get("warm").lock()).awaitParked();
    waitedFor.close();
    waiter.result().close();
    Lease lost = client.get("warm", LockOptions.fixed(TTL)).tryLock().orElseThrow();
    lost.onLost(loss -> {});
    time.advance(TTL);
    assertThatThrownBy(lost::close).isInstanceOf(LockLostException.class);
    settle();
    canary = client.get("canary").tryLock().orElseThrow();
  }

  /** Calls that are made with a little more of the stack each time, from nearly nothing on. */
  private static final class Calls {
    private final IntConsumer call;
    private int made;
    private int overflowed;
    private int succeeded;

    Calls(IntConsumer call) {
      this.call = call;
    }

    /** Goes down to the end of the stack, and makes one call at each level on the way back. */
    @SuppressWarnings("InfiniteRecursion") // That is what it is for.
    void makeAtTheEndOfTheStack() {
      try {
        makeAtTheEndOfTheStack();
      } catch (StackOverflowError e) {
        succeeded = 0;
      }
      if (succeeded < SUCCESSES && made < CALLS_MAX) {
        made++;
        try {
          call.accept(made - 1);
          succeeded++;
        } catch (StackOverflowError e) {
          overflowed++;
          succeeded = 0;
        }
      }
    }
  }

  /** Makes the calls on a thread of its own; the number of those that were made. */
  private int deep(IntConsumer call) {
    Calls calls = new Calls(call);
    Thread thread = new Thread(null, calls::makeAtTheEndOfTheStack, "deep", STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    time.runDuring(() -> Eventually.await("the deep calls", () -> !thread.isAlive()));
    assertThat(calls.overflowed).isPositive();
    assertThat(calls.succeeded).isEqualTo(SUCCESSES);
    return calls.made;
  }

  private static String name(int i) {
    return "x" + i;
  }

  /** With options of their own, so that leases are renewed for as long as anybody keeps them. */
  private List<Lease> leases(LockOptions options) {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < CALLS_MAX; i++) {
      leases.add(client.get(name(i), options).tryLock().orElseThrow());
    }
    return leases;
  }

  private void assertAllIsFree(int names) {
    // What overflowed is tried again a little later, or found when it is to be renewed.
    time.runDuring(
        10, () -> Eventually.await("all but the canary to be free", () -> monitor.held() == 1));
    time.runDuring(this::settle);
    pass(AT_RENEWAL);
    for (int i = 0; i < names; i++) {
      other.get(name(i)).tryLock().orElseThrow().close();
      client.get(name(i)).tryLock().orElseThrow().close();
    }
    pass(AT_RENEWAL);
    pass(AT_RENEWAL);
    assertThat(canary.state()).isEqualTo(LeaseState.HELD);
    assertThat(EngineProbe.kept(client)).isOne();
    canary.close();
  }

  /** L-7.1: a close that overflows has either not begun, and can be made again, or is done. */
  @Test
  void aCloseThatOverflowsCanBeMadeAgain() {
    List<Lease> leases = leases(LockOptions.defaults());
    int made = deep(i -> leases.get(i).close());
    leases.forEach(Lease::close);

    assertAllIsFree(made);
  }

  /** L-6.9: what the caller never got to see is given back. */
  @Test
  void anAcquireThatOverflowsLeavesNothing() {
    DistributedLock[] locks = new DistributedLock[CALLS_MAX];
    for (int i = 0; i < CALLS_MAX; i++) {
      locks[i] = client.get(name(i));
    }
    Lease[] leases = new Lease[CALLS_MAX];
    int made = deep(i -> leases[i] = locks[i].tryLock().orElseThrow());
    for (Lease lease : leases) {
      if (lease != null) {
        lease.close();
      }
    }

    assertAllIsFree(made);
  }

  /** L-6.6: a thread that is gone is handed nothing. */
  @Test
  void aWaitThatOverflowsLeavesTheQueue() {
    List<Lease> leases = leases(LockOptions.defaults());
    DistributedLock[] locks = new DistributedLock[CALLS_MAX];
    for (int i = 0; i < CALLS_MAX; i++) {
      locks[i] = client.get(name(i));
    }
    int made = deep(i -> {
      try {
        assertThat(locks[i].tryLock(Duration.ofNanos(1))).isEmpty();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    });
    leases.forEach(Lease::close);

    assertAllIsFree(made);
  }

  /** L-8.4: the thread that finds a loss need not be able to tell it. */
  @Test
  void aLookThatFindsALossAndOverflowsSilencesNobody() {
    LockOptions fixed = LockOptions.fixed(TTL);
    List<Lease> leases = leases(fixed);
    AtomicInteger told = new AtomicInteger();
    leases.forEach(lease -> lease.onLost(loss -> told.incrementAndGet()));
    settle();
    // Else it would find them all.
    Gate keeper = new Gate();
    tapped.tap(EngineProbe.keeper(client), (call, nth) -> {
      if (call == TappedTime.Call.PARKED) {
        LossTest.passQuietly(keeper);
      }
    });
    time.advance(UNTIL_DEADLINE);
    keeper.awaitCall();
    boolean[] held = new boolean[CALLS_MAX];
    int made = deep(i -> held[i] = leases.get(i).isHeld());
    tapped.untap(EngineProbe.keeper(client));
    keeper.open();
    time.runDuring(() -> Eventually.await("all to be told", () -> told.get() == CALLS_MAX));
    // Those that found no stack to be told with are looked at once more.
    time.runDuring(this::settle);

    assertThat(told).hasValue(CALLS_MAX);
    assertThat(held).containsOnly(false);
    leases.forEach(lease -> assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class));
    assertThat(canary.isHeld()).isFalse();
    assertThat(made).isPositive();
  }
}
