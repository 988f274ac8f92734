package io.holdfast.lock.internal.renewal;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** The inside of a keeper, for tests in other packages. */
public final class KeeperProbe {
  private KeeperProbe() {}

  public static Thread thread(Keeper keeper) {
    return keeper.thread();
  }

  public static int kept(Keeper keeper) {
    return keeper.kept();
  }

  public static int roundsInFlight(Keeper keeper) {
    return keeper.roundsInFlight();
  }

  public static void change(Keeper keeper, UnaryOperator<ThreadFactory> change) {
    keeper.rounds().setThreadFactory(change.apply(keeper.rounds().getThreadFactory()));
  }

  public static void keepNoIdleThreads(Keeper keeper) {
    keeper.rounds().setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }

  public static int roundThreads(Keeper keeper) {
    return keeper.rounds().getPoolSize();
  }
}
