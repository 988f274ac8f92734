package io.holdfast.lock.internal.grant;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.LincheckSetup;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Renewal, loss and release of one grant, in every order that Lincheck can think of. */
@Timeout(600)
class ActiveGrantLincheckTest {
  private static final Duration TTL = Duration.ofSeconds(30);

  /** The operations of the keeper, the store's events and the holder on a grant. */
  public static class Ends extends LincheckSetup.Nobody {
    final ActiveGrant grant = new ActiveGrant(
        new LincheckSetup.NumberedGrant(1),
        LockOptions.renewed(TTL),
        LincheckSetup.START,
        LincheckSetup.STILL,
        this);
    private volatile boolean stopped;
    private final AtomicInteger losses = new AtomicInteger();
    private volatile boolean released;

    public Ends() {}

    /** The keeper sends a renewal, and the store confirms it. */
    @Operation
    public void renew() {
      boolean tooLate = stopped;
      if (grant.schedule().beginFlight()) {
        if (tooLate) {
          throw new AssertionError("A renewal began after the release");
        }
        if (!grant.renewed(LincheckSetup.START, TTL)) {
          throw new AssertionError("A doubt that nobody had");
        }
        grant.schedule().endFlight();
      }
    }

    /** A renewal goes unanswered. */
    @Operation
    public void doubt() {
      grant.unanswered();
    }

    /** The store says that the grant is gone. */
    @Operation
    public void lose() {
      grant.lose(LeaseLoss.Reason.TAKEN);
    }

    /** The holder closes, as the client does it. */
    @Operation(runOnce = true)
    public void release() {
      stop();
      if (grant.beginEnd()) {
        grant.endReleased();
        released = true;
      }
    }

    void stop() {
      grant.schedule().stop();
      stopped = true;
    }

    /** It ends once, and a loss is told once. */
    @Validate
    public void endsOnce() {
      LeaseState state = grant.leaseState();
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
    public void lost(ActiveGrant changed) {
      losses.incrementAndGet();
    }
  }

  /** Checks, and then loses: seen to fail. */
  public static class LosesTwice extends Ends {
    public LosesTwice() {}

    @Override
    @Operation
    public void lose() {
      if (grant.leaseState() != LeaseState.LOST) {
        lost(grant);
        grant.lose(LeaseLoss.Reason.TAKEN);
      }
    }
  }

  private static ModelCheckingOptions options() {
    return LincheckSetup.options();
  }

  @Test
  void aGrantEndsOnceHoweverRenewalLossAndReleaseMeet() {
    options().check(Ends.class);
  }

  @Test
  void aLossThatIsToldTwiceIsFound() {
    Assertions.assertThrows(AssertionError.class, () -> options().check(LosesTwice.class));
  }
}
