package io.holdfast.lock.internal.task;

import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.function.UnaryOperator;

/** The inside of workers, for tests in other packages. */
public final class WorkersProbe {
  private WorkersProbe() {}

  /** Whether none of them has anything to do, or waits in a gate of a test. */
  public static boolean areIdle(List<Workers> all) {
    return all.stream()
        .allMatch(workers -> workers.threads.getQueue().isEmpty() && !workers.hasWaiting());
  }

  public static void change(Workers workers, UnaryOperator<ThreadFactory> change) {
    workers.threads.setThreadFactory(change.apply(workers.threads.getThreadFactory()));
  }

  public static int threads(List<Workers> all) {
    return all.stream().mapToInt(workers -> workers.threads.getPoolSize()).sum();
  }
}
