package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Renewal, loss and release of one tenure, in every order that Lincheck can think of. */
@Timeout(600)
class TenureLincheckTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  /** What the keeper, the store's events and the holder do to a tenure. */
  public static class Ends implements Tenure.Observer {
    final Tenure tenure = new Tenure(
        new LineLincheckTest.NumberedGrant(1),
        LockOptions.renewed(TTL),
        new Line(new LockKey(LockKind.MUTEX, "lincheck")),
        LineLincheckTest.START,
        LineLincheckTest.STILL,
        this);
    private volatile boolean stopped;
    private final AtomicInteger losses = new AtomicInteger();
    private volatile boolean released;

    public Ends() {}

    /** The keeper sends a renewal, and the store confirms it. */
    @Operation
    public void renew() {
      boolean tooLate = stopped;
      if (tenure.renewal().beginFlight()) {
        if (tooLate) {
          throw new AssertionError("A renewal began after the release");
        }
        if (!tenure.confirmed(LineLincheckTest.START, TTL)) {
          throw new AssertionError("A doubt that nobody had");
        }
        tenure.renewal().endFlight();
      }
    }

    /** A renewal goes unanswered. */
    @Operation
    public void doubt() {
      tenure.unanswered();
    }

    /** The store says that the grant is gone. */
    @Operation
    public void lose() {
      tenure.lose(LeaseLoss.Reason.TAKEN);
    }

    /** The holder closes, as the client does it. */
    @Operation(runOnce = true)
    public void release() {
      stop();
      if (tenure.beginEnd()) {
        tenure.endReleased();
        released = true;
      }
    }

    void stop() {
      tenure.renewal().stop();
      stopped = true;
    }

    /** It ends once, and a loss is told once. */
    @Validate
    public void endsOnce() {
      LeaseState state = tenure.state();
      boolean consistent = switch (state) {
        case LOST -> losses.get() == 1 && !released;
        case RELEASED -> losses.get() == 0 && released;
        case HELD, UNCERTAIN -> losses.get() == 0 && !released;
      };
      if (!consistent) {
        throw new AssertionError(
            state + " after " + losses.get() + " losses were told, released: " + released);
      }
    }

    @Override
    public void suspect(Tenure changed) {}

    @Override
    public void uncertain(Tenure changed) {}

    @Override
    public void confirmed(Tenure changed) {}

    @Override
    public void lost(Tenure changed, LeaseLoss.Reason reason) {
      losses.incrementAndGet();
    }
  }

  /** Checks, and then loses: seen to fail. */
  public static class LosesTwice extends Ends {
    public LosesTwice() {}

    @Override
    @Operation
    public void lose() {
      if (tenure.state() != LeaseState.LOST) {
        lost(tenure, LeaseLoss.Reason.TAKEN);
        tenure.lose(LeaseLoss.Reason.TAKEN);
      }
    }
  }

  private static ModelCheckingOptions options() {
    return LineLincheckTest.options();
  }

  @Test
  void aTenureEndsOnceHoweverRenewalLossAndReleaseMeet() {
    options().check(Ends.class);
  }

  @Test
  void aLossThatIsToldTwiceIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(LosesTwice.class));
  }
}
