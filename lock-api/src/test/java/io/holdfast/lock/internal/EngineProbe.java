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
    return KeeperProbe.thread(engine(client).parts.keeper());
  }

  /** The number of grants that are kept. */
  public static int kept(LockClient client) {
    return KeeperProbe.kept(engine(client).parts.keeper());
  }

  /** The number of groups of leases that are being renewed. */
  public static int renewing(LockClient client) {
    return KeeperProbe.roundsInFlight(engine(client).parts.keeper());
  }

  /** Whether its own threads, but for the keeper and the renewals, have nothing to do. */
  public static boolean areWorkersIdle(LockClient client) {
    EngineClient engine = engine(client);
    return WorkersProbe.areIdle(
        List.of(engine.parts.settlers(), engine.parts.cleaners(), engine.parts.callbackThreads()));
  }

  /** A description of its own threads, for messages. */
  public static String describe(LockClient client) {
    return "keeper "
        + keeper(client).getState()
        + ", groups being renewed "
        + renewing(client)
        + ", workers "
        + (areWorkersIdle(client) ? "idle" : "busy");
  }

  /** Changes how all threads but the keeper are made. */
  public static void changeThreads(LockClient client, UnaryOperator<ThreadFactory> change) {
    EngineClient engine = engine(client);
    WorkersProbe.change(engine.parts.settlers(), change);
    WorkersProbe.change(engine.parts.cleaners(), change);
    WorkersProbe.change(engine.parts.callbackThreads(), change);
    KeeperProbe.change(engine.parts.keeper(), change);
  }

  /** Has all threads but the keeper end as soon as they have nothing to do. */
  public static void keepNoIdleThreads(LockClient client) {
    EngineClient engine = engine(client);
    engine.parts.settlers().retire();
    engine.parts.cleaners().retire();
    engine.parts.callbackThreads().retire();
    KeeperProbe.keepNoIdleThreads(engine.parts.keeper());
  }

  /** The number of its threads, but for the keeper. */
  public static int threads(LockClient client) {
    EngineClient engine = engine(client);
    return WorkersProbe.threads(List.of(
            engine.parts.settlers(), engine.parts.cleaners(), engine.parts.callbackThreads()))
        + KeeperProbe.roundThreads(engine.parts.keeper());
  }

  private static EngineClient engine(LockClient client) {
    return (EngineClient) client;
  }
}
