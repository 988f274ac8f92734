package io.holdfast.lock.internal;

import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/** The surroundings of a class that Lincheck tests: a store's grants, and a clock. */
public final class LincheckSetup {
  public static final LockKey KEY = new LockKey(LockKind.MUTEX, "lincheck");

  /** A clock that stands still. */
  public static final Clocks STILL = new Clocks(new TimeSource() {
    @Override
    public long nanos() {
      return 0;
    }

    @Override
    public long wallMillis() {
      return 0;
    }

    @Override
    public void park(Object blocker, long nanos) {
      LockSupport.parkNanos(blocker, nanos);
    }
  });

  public static final ClockReading START = new ClockReading(0, 0);

  private LincheckSetup() {}

  /** A grant for {@code LockOptions.defaults()}. */
  public record NumberedGrant(Claim claim, long number) implements Grant {
    public NumberedGrant(long number) {
      this(
          new Claim(
              KEY, Claim.EXCLUSIVE, "owner", Duration.ofSeconds(30), Duration.ZERO, "lincheck"),
          number);
    }

    @Override
    public Duration validFor() {
      return claim.ttl();
    }

    @Override
    public Duration crashBound(Duration ttl) {
      return ttl;
    }
  }

  /** An observer that does nothing. */
  public static class Nobody implements ActiveGrant.Observer {
    @Override
    public void askAtOnce(ActiveGrant grant) {}

    @Override
    public void certaintyChanged(ActiveGrant grant, int changes) {}

    @Override
    public void lost(ActiveGrant grant) {}

    @Override
    public void settle(ActiveGrant grant) {}
  }

  public static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .iterations(5)
        .invocationsPerIteration(150)
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(0)
        .minimizeFailedScenario(false);
  }
}
