package io.holdfast.lock.internal.renewal;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** The inside of a keeper, for tests in other packages. */
public final class KeeperProbe {
  private KeeperProbe() {}

  public static Thread thread(Keeper keeper) {
    return keeper.thread;
  }

  public static int kept(Keeper keeper) {
    return keeper.grants.size();
  }

  public static int roundsInFlight(Keeper keeper) {
    return keeper.groupsInFlight.size();
  }

  public static void change(Keeper keeper, UnaryOperator<ThreadFactory> change) {
    keeper.rounds.setThreadFactory(change.apply(keeper.rounds.getThreadFactory()));
  }

  public static void keepNoIdleThreads(Keeper keeper) {
    keeper.rounds.setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }

  /** Has a keeper that was not started run on a thread of another make. */
  public static void runOn(Keeper keeper, ThreadFactory threads) {
    try {
      Method work = Keeper.class.getDeclaredMethod("work");
      work.setAccessible(true);
      Field thread = Keeper.class.getDeclaredField("thread");
      thread.setAccessible(true);
      thread.set(keeper, threads.newThread(() -> {
        try {
          work.invoke(keeper);
        } catch (ReflectiveOperationException e) {
          throw new LinkageError(e.getMessage(), e);
        }
      }));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  public static int roundThreads(Keeper keeper) {
    return keeper.rounds.getPoolSize();
  }
}
