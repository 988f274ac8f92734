package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who was once told that a lease is over is never told again that it stands. */
@Timeout(600)
class ExpiryLincheckTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  /** A lease whose time passes while it is renewed and looked at. */
  public static class Looks implements Tenure.Observer {
    private volatile long nowNanos;
    private volatile boolean wasOver;

    private final TimeSource time = new TimeSource() {
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
    };

    final Tenure tenure = new Tenure(
        new LineLincheckTest.NumberedGrant(1),
        LockOptions.renewed(TTL),
        new Line(new LockKey(LockKind.MUTEX, "lincheck")),
        LineLincheckTest.START,
        time,
        this);

    public Looks() {}

    /** The deadline comes, and somebody looks. */
    @Operation(runOnce = true)
    public void pass() {
      nowNanos = tenure.standing().term().deadlineNanos();
      look();
    }

    /** A renewal that was sent a while ago is confirmed, and somebody looks. */
    @Operation
    public void renew() {
      boolean settled = tenure.confirmed(new Moment(TTL.toNanos() / 3, 0), TTL);
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
      return tenure.stands();
    }

    long nanos() {
      return nowNanos;
    }

    @Override
    public void suspect(Tenure changed) {}

    @Override
    public void uncertain(Tenure changed) {}

    @Override
    public void confirmed(Tenure changed) {}

    @Override
    public void lost(Tenure changed, LeaseLoss.Reason reason) {}
  }

  /** Compares the clock with the deadline, and marks nothing: seen to fail. */
  public static class MarksNothing extends Looks {
    public MarksNothing() {}

    @Override
    boolean stands() {
      Standing now = tenure.standing();
      return !now.isOver() && !now.isPast(nanos());
    }
  }

  /** Its operations are short, and few of their orders tell. */
  private static ModelCheckingOptions options() {
    return LineLincheckTest.options().iterations(10).invocationsPerIteration(500);
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
