package io.holdfast.lock.internal.grant;

import io.holdfast.lock.internal.LincheckSetup;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One renewal at a time, none while a guard suspends them, and none that begins after the end. */
@Timeout(600)
class RenewalScheduleLincheckTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  /** The operations of the keeper, guards and the holder on a plan. */
  public static class Flights {
    final RenewalSchedule plan =
        new RenewalSchedule(LincheckSetup.STILL, true, TTL.toNanos(), 0, TTL.toNanos());
    private final AtomicInteger flying = new AtomicInteger();
    private volatile boolean stopped;

    public Flights() {}

    /** The keeper renews. */
    @Operation
    public void fly() {
      boolean tooLate = stopped;
      if (plan.beginFlight()) {
        if (tooLate || flying.incrementAndGet() != 1) {
          throw new AssertionError("Two flights, or one after the end");
        }
        flying.decrementAndGet();
        plan.endFlight();
      }
    }

    /** A guard suspends renewal, and ends. */
    @Operation
    public void guard() {
      suspend();
      if (flying.get() != 0) {
        throw new AssertionError("A flight under a guard");
      }
      plan.resume();
    }

    void suspend() {
      plan.suspend(TTL.toNanos());
    }

    /** The holder closes. */
    @Operation(runOnce = true)
    public void stop() {
      plan.stop();
      stopped = true;
    }
  }

  /** Does not wait for the renewal that is under way: seen to fail. */
  public static class Impatient extends Flights {
    public Impatient() {}

    @Override
    void suspend() {
      plan.suspend(0);
    }
  }

  @Test
  void renewalsAndGuardsExcludeEachOther() {
    LincheckSetup.options().check(Flights.class);
  }

  @Test
  void aGuardThatDoesNotWaitIsFound() {
    Assertions.assertThrows(
        AssertionError.class, () -> LincheckSetup.options().check(Impatient.class));
  }
}
