package io.holdfast.lock.torture;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.torture.WorkerLog.Note;
import io.holdfast.lock.torture.WorkerLog.Order;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A process that takes locks while faults happen. Its arguments are those of {@link Task}. It ends
 * when it is ordered to, or when its standard input does.
 */
final class Worker {
  static final int THREADS = 3;

  private static final long PAUSE_NANOS = 20_000_000;
  private static final long START_NANOS_MAX = 120_000_000_000L;

  /** The longest that the client's own threads may take to end. */
  private static final long THREADS_END_NANOS_MAX = 20_000_000_000L;

  private Worker() {}

  /**
   * A worker's task.
   *
   * @param life the number of processes that the worker had before
   * @param startedAt the parent's {@code nanoTime} before it started this process
   */
  record Task(
      StoreKind store,
      List<Address> servers,
      List<Address> ways,
      int worker,
      int life,
      long seed,
      long startedAt,
      Wrong wrong,
      Path log,
      List<String> names) {
    String clientName() {
      return "torture-" + worker + "." + life;
    }

    List<String> arguments() {
      return List.of(
          store.name(),
          Address.join(servers),
          Address.join(ways),
          Integer.toString(worker),
          Integer.toString(life),
          Long.toString(seed),
          Long.toString(startedAt),
          wrong.name(),
          log.toString(),
          String.join(",", names));
    }

    static Task of(String[] arguments) {
      return new Task(
          StoreKind.valueOf(arguments[0]),
          Address.split(arguments[1]),
          Address.split(arguments[2]),
          Integer.parseInt(arguments[3]),
          Integer.parseInt(arguments[4]),
          Long.parseLong(arguments[5]),
          Long.parseLong(arguments[6]),
          Wrong.valueOf(arguments[7]),
          Path.of(arguments[8]),
          List.of(arguments[9].split(",", -1)));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Task task = Task.of(arguments);
    endWithParent();
    WorkerLog log = WorkerLog.map(task.log);
    checkClock(task);
    try (Access access = Access.open(task.store, task.servers, task.ways, task.worker)) {
      work(task, log, access);
    }
    // Libraries leave threads that are not daemons.
    System.exit(0);
  }

  /** Ends this process when its parent has ended. */
  private static void endWithParent() {
    Thread watch = new Thread(
        () -> {
          try {
            while (System.in.read() >= 0) {
              // It only ends.
            }
          } catch (IOException e) {
            // It ended.
          }
          Runtime.getRuntime().halt(1);
        },
        "parent-watch");
    watch.setDaemon(true);
    watch.start();
  }

  /** Checks that {@code nanoTime} is one clock for all processes, as it is on Linux. */
  private static void checkClock(Task task) {
    long age = System.nanoTime() - task.startedAt;
    if (age < 0 || age > START_NANOS_MAX) {
      throw new IllegalStateException("The clock of this process is not its parent's: it began "
          + age
          + " ns after it was started");
    }
  }

  private static void work(Task task, WorkerLog log, Access access) throws InterruptedException {
    LockClient client = build(task, log, access);
    if (client == null) {
      return;
    }
    log.note(Note.READY_AT, System.nanoTime());
    Condition.start(log);
    List<Thread> threads = new ArrayList<>();
    Turns[] turns = new Turns[THREADS];
    for (int i = 0; i < THREADS; i++) {
      Turns turn = new Turns(task, i, log, access, client);
      turns[i] = turn;
      Thread thread = new Thread(turn, "turns-" + i);
      thread.start();
      threads.add(thread);
    }
    // Nothing is allocated here: a full heap must not end this thread.
    while (!haveRecovered(turns) && log.ordered() != Order.END) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    log.note(Note.RECOVERED_AT, System.nanoTime());
    while (log.ordered() != Order.END) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    client.close();
    log.note(Note.CLOSED_AT, System.nanoTime());
    for (Thread thread : threads) {
      thread.join(THREADS_END_NANOS_MAX / 1_000_000);
    }
    long end = System.nanoTime() + THREADS_END_NANOS_MAX;
    while (ourThreads() > 0 && System.nanoTime() < end) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    log.note(Note.THREADS_LEFT, ourThreads());
  }

  private static boolean haveRecovered(Turns[] turns) {
    for (Turns turn : turns) {
      if (!turn.hasRecovered()) {
        return false;
      }
    }
    return true;
  }

  /** Builds a client, as soon as the store can be reached; null if ordered to end before. */
  private static @Nullable LockClient build(Task task, WorkerLog log, Access access) {
    while (log.ordered() != Order.END) {
      try {
        return access
            .newClient()
            .clientName(task.clientName())
            .storeTimeout(StoreKind.STORE_TIMEOUT)
            .timeSource(new WorkerTime(log))
            .build();
      } catch (LockStoreException e) {
        System.err.println("not built: " + e);
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    return null;
  }

  private static long ourThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("holdfast-"))
        .peek(thread -> System.err.println("still there: " + thread.getName()))
        .count();
  }
}
