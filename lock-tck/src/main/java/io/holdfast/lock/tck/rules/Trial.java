package io.holdfast.lock.tck.rules;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * One run of a test. If the machine did not run this JVM for a while, a failure says nothing about
 * the store: its leases ended because the client was paused. The test is then repeated.
 *
 * @param failure what the test threw, if anything
 * @param stall the longest time for which the machine stood still
 */
record Trial(@Nullable Throwable failure, Duration stall) {
  private static final int TRIALS_MAX = 3;

  /** Runs a test. */
  interface Runner {
    /** Runs the test; the number is 1 for the first time. */
    Trial run(int number) throws Throwable;
  }

  /** Runs a test until the result is conclusive; throws what it threw. */
  static void untilConclusive(Runner runner) throws Throwable {
    for (int number = 1; ; number++) {
      Trial trial = runner.run(number);
      Throwable failure = trial.failure();
      if (failure == null) {
        return;
      }
      if (failure instanceof TestAbortedException || !trial.stoodStill()) {
        throw failure;
      }
      if (number == TRIALS_MAX) {
        failure.addSuppressed(new IllegalStateException("Inconclusive: the machine ran nothing of"
            + " ours for "
            + trial.stall()
            + " during the test, and in the "
            + (TRIALS_MAX - 1)
            + " runs before"));
        throw failure;
      }
    }
  }

  private boolean stoodStill() {
    return stall.compareTo(StallWatch.WORTH_TELLING) > 0;
  }
}
