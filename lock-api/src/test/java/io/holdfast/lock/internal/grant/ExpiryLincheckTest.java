package io.holdfast.lock.internal.grant;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A lease that was once seen to be over is never seen to stand again. */
@Tag("nightly")
@Timeout(600)
class ExpiryLincheckTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  /** A lease whose time passes while it is renewed and looked at. */
  public static class Looks extends LincheckSetup.Nobody {
    private volatile long nowNanos;
    private volatile boolean wasOver;

    private final Clocks time = new Clocks(new TimeSource() {
      @Override
      public long nanos() {
        return nowNanos;
      }

      @Override
      public long wallMillis() {
        return 0;
      }

      @Override
      public void park(Object blocker, long nanos) {}
    });

    final ActiveGrant grant = new ActiveGrant(
        new LincheckSetup.NumberedGrant(1),
        LockOptions.renewed(TTL),
        LincheckSetup.START,
        time,
        this);

    public Looks() {}

    /** The deadline comes, and somebody looks. */
    @Operation(runOnce = true)
    public void pass() {
      nowNanos = grant.state().validity().deadlineNanos();
      look();
    }

    /** A renewal that was sent a while ago is confirmed, and somebody looks. */
    @Operation
    public void renew() {
      boolean settled = grant.renewed(new ClockReading(TTL.toNanos() / 3, 0), TTL);
      if (!settled) {
        throw new AssertionError("A doubt that nobody had");
      }
      look();
    }

    private void look() {
      boolean overBefore = wasOver;
      if (!stands()) {
        wasOver = true;
      } else if (overBefore) {
        throw new AssertionError("It stands again");
      }
    }

    boolean stands() {
      return grant.stands();
    }

    long nanos() {
      return nowNanos;
    }
  }

  /** Compares the clock with the deadline, and marks nothing: seen to fail. */
  public static class MarksNothing extends Looks {
    public MarksNothing() {}

    @Override
    boolean stands() {
      GrantState now = grant.state();
      return !now.isOver() && !now.validity().isPast(nanos());
    }
  }

  /** Its operations are short, and few of their orders tell. */
  private static ModelCheckingOptions options() {
    return LincheckSetup.options().iterations(10).invocationsPerIteration(500);
  }

  @Test
  void whatIsOverStaysOver() {
    options().check(Looks.class);
  }

  @Test
  void aLookThatMarksNothingIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(MarksNothing.class));
  }
}
