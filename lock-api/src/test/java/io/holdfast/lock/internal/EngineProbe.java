package io.holdfast.lock.internal;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.internal.renewal.KeeperProbe;
import io.holdfast.lock.internal.task.WorkersProbe;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.function.UnaryOperator;

/** The inside of a client, for tests in other packages. */
public final class EngineProbe {
  private EngineProbe() {}

  /** The thread that keeps its leases. */
  public static Thread keeper(LockClient client) {
    return KeeperProbe.thread(engine(client).keeper);
  }

  /** The number of grants that are kept. */
  public static int kept(LockClient client) {
    return KeeperProbe.kept(engine(client).keeper);
  }

  /** The number of groups of leases that are being renewed. */
  public static int renewing(LockClient client) {
    return KeeperProbe.roundsInFlight(engine(client).keeper);
  }

  /** Whether its own threads, but for the keeper and the renewals, have nothing to do. */
  public static boolean areWorkersIdle(LockClient client) {
    EngineClient engine = engine(client);
    return WorkersProbe.areIdle(List.of(engine.settlers, engine.cleaners, engine.callbackThreads));
  }

  /** As {@link #areWorkersIdle}, but there can be tasks that wait for their next try. */
  public static boolean areWorkersWaiting(LockClient client) {
    EngineClient engine = engine(client);
    return WorkersProbe.areWaiting(
        List.of(engine.settlers, engine.cleaners, engine.callbackThreads));
  }

  /** A description of its own threads, for messages. */
  public static String describe(LockClient client) {
    return "keeper "
        + keeper(client).getState()
        + ", groups being renewed "
        + renewing(client)
        + ", workers "
        + (areWorkersIdle(client) ? "idle" : "busy")
        + (areWorkersWaiting(client) ? ", none of it now" : "");
  }

  /** Changes how all threads but the keeper are made. */
  public static void changeThreads(LockClient client, UnaryOperator<ThreadFactory> change) {
    EngineClient engine = engine(client);
    WorkersProbe.change(engine.settlers, change);
    WorkersProbe.change(engine.cleaners, change);
    WorkersProbe.change(engine.callbackThreads, change);
    KeeperProbe.change(engine.keeper, change);
  }

  /** Has all threads but the keeper end as soon as they have nothing to do. */
  public static void keepNoIdleThreads(LockClient client) {
    EngineClient engine = engine(client);
    engine.settlers.retire();
    engine.cleaners.retire();
    engine.callbackThreads.retire();
    KeeperProbe.keepNoIdleThreads(engine.keeper);
  }

  /** The number of its threads, but for the keeper. */
  public static int threads(LockClient client) {
    EngineClient engine = engine(client);
    return WorkersProbe.threads(List.of(engine.settlers, engine.cleaners, engine.callbackThreads))
        + KeeperProbe.roundThreads(engine.keeper);
  }

  private static EngineClient engine(LockClient client) {
    return (EngineClient) client;
  }
}
