package io.holdfast.lock.simulation;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.EngineProbe;
import io.holdfast.lock.internal.memory.MemoryTable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

/** One engine on a store that does as it is told, and on a time of its own. */
public abstract class EngineTest {
  protected static final Duration TTL = Duration.ofSeconds(30);
  protected static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

  /**
   * After this much time without an answer, a lease with the default TTL is over for its holder.
   */
  protected static final Duration UNTIL_DEADLINE = Duration.ofMillis(29_400);

  /** Not due yet, whatever the jitter. */
  protected static final Duration BEFORE_RENEWAL = Duration.ofMillis(8_900);

  /** Due, whatever the jitter. */
  protected static final Duration AT_RENEWAL = Duration.ofMillis(11_100);

  protected final SimulatedTime time = new SimulatedTime();
  protected final MemoryTable server = new MemoryTable();
  protected final ScriptedStore store = new ScriptedStore(time, server);

  private final List<ScriptedStore> stores = new ArrayList<>(List.of(store));

  /** With the clocks of their machines. */
  private final Map<LockClient, SimulatedTime> clients = new LinkedHashMap<>();

  private SemaphoreClient client;
  private LockClient other;

  /** The client under test; the first call builds it. */
  protected SemaphoreClient client() {
    return client(builder -> builder);
  }

  /** As {@link #client()}, with settings; they count in the first call. */
  protected synchronized SemaphoreClient client(UnaryOperator<ScriptedStore.Builder> settings) {
    if (client == null) {
      client = opened(settings.apply(store.client().clientName("test")).build());
    }
    return client;
  }

  /** A lock of the client under test. */
  protected DistributedLock lock(String name) {
    return client().get(name);
  }

  protected DistributedLock lock(String name, LockOptions options) {
    return client().get(name, options);
  }

  /** A lock of another client on the same server, whose calls are not counted. */
  protected synchronized DistributedLock others(String name) {
    if (other == null) {
      ScriptedStore othersStore = new ScriptedStore(time, server);
      stores.add(othersStore);
      other = opened(othersStore.client().clientName("other").build());
    }
    return other.get(name);
  }

  /** A lease of the calling thread. */
  protected Lease held(String name) {
    return lock(name).tryLock().orElseThrow();
  }

  protected Lease held(String name, LockOptions options) {
    return lock(name, options).tryLock().orElseThrow();
  }

  /** Has a client closed after the test. */
  protected <C extends LockClient> C opened(C opened) {
    return opened(opened, time);
  }

  /** As {@link #opened(LockClient)}, for one on a machine with clocks of its own. */
  protected synchronized <C extends LockClient> C opened(C opened, SimulatedTime itsTime) {
    clients.put(opened, itsTime);
    return opened;
  }

  /** A thread of this name does this. */
  protected <T> Actor<T> start(String name, Callable<T> action) {
    return new Actor<>(time, name, action);
  }

  /** Lets this much time pass, which the keeper waits for. */
  protected void advance(Duration duration) {
    settle();
    time.advance(duration);
  }

  /** As {@link #advance}; and lets the engine do what is due. */
  protected void pass(Duration duration) {
    advance(duration);
    settle();
  }

  /** The number of times that the client's keeper has looked for something to do. */
  protected int looks() {
    return time.parks(EngineProbe.keeper(client()));
  }

  /** Returns when the engine's own threads have nothing to do at this time. */
  protected void settle() {
    clients.forEach(EngineTest::settle);
  }

  private static void settle(LockClient opened, SimulatedTime itsTime) {
    Thread keeper = EngineProbe.keeper(opened);
    boolean settled = false;
    while (keeper.isAlive() && !settled) {
      Eventually.await(
          () -> "the engine to settle: " + EngineProbe.describe(opened),
          () -> !keeper.isAlive() || isQuiet(opened, itsTime));
      int parks = itsTime.parks(keeper);
      // One more look, after all that is over.
      LockSupport.unpark(keeper);
      Eventually.await(
          "the keeper to look",
          () -> !keeper.isAlive() || (itsTime.parks(keeper) > parks && itsTime.isParked(keeper)));
      settled = isQuiet(opened, itsTime);
    }
  }

  private static boolean isQuiet(LockClient opened, SimulatedTime itsTime) {
    String client = EngineProbe.keeper(opened).getName().replace("-keeper", "");
    return itsTime.isParked(EngineProbe.keeper(opened))
        && EngineProbe.renewing(opened) <= Gate.stopped(client + "-renewal-")
        && EngineProbe.areWorkersIdle(opened)
        && Stream.of("callback", "clean-up", "settlement")
            .allMatch(sort -> areIdle(client + "-" + sort + "-"));
  }

  private static boolean areIdle(String threadName) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith(threadName))
        .allMatch(thread -> thread.getState() == Thread.State.WAITING
            || thread.getState() == Thread.State.TIMED_WAITING);
  }

  @AfterEach
  void closeClients() {
    for (ScriptedStore opened : stores) {
      opened.heal();
      opened.openGates();
    }
    clients.forEach((opened, itsTime) -> itsTime.runDuring(opened::close));
  }
}
