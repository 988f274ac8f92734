package io.holdfast.lock.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Client;
import io.holdfast.lock.bench.candidate.Mutex;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Arena;
import io.holdfast.lock.bench.scenario.Sample;
import io.holdfast.lock.bench.scenario.Share;
import io.holdfast.lock.bench.scenario.Task;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The program of a JVM with one client of one candidate: reads tasks from its parent, one per line,
 * and answers.
 */
public final class Worker {
  /** The prefix of lines that are meant for the parent; libraries may print others. */
  static final String ANSWER = "@";

  // Places in the arena.
  private static final int HOLDER = 0;
  private static final int RELEASED_AT = 1;
  private static final int WAITING = 2;
  private static final int DONE = 4;

  private final Client client;
  private final Arena arena;
  private final Set<Long> threadsBefore;
  private final com.sun.management.ThreadMXBean threadBean =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final com.sun.management.OperatingSystemMXBean systemBean =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();

  /**
   * One executor for each thread number, so that a candidate sees the same threads in every round.
   */
  private final List<ExecutorService> threads = new ArrayList<>();

  /** The ids of those threads. */
  private final Set<Long> users = ConcurrentHashMap.newKeySet();

  /** The mutexes, by thread number and then by name. */
  private final List<Map<String, Mutex>> mutexes = new ArrayList<>();

  private final List<Mutex> taken = new ArrayList<>();
  private List<Future<Turns>> waiting = List.of();

  private Worker(Client client, Arena arena, Set<Long> threadsBefore) {
    this.client = client;
    this.arena = arena;
    this.threadsBefore = threadsBefore;
  }

  /** The arguments are: store, candidate, the server's URL, the arena's file. */
  public static void main(String[] args) throws Exception {
    Set<Long> threadsBefore = LongStream.of(ManagementFactory.getThreadMXBean().getAllThreadIds())
        .boxed()
        .collect(Collectors.toSet());
    PrintStream answers = System.out;
    System.setOut(System.err);
    ObjectMapper json = new ObjectMapper();
    Candidate candidate = Store.valueOf(args[0]).candidate(args[1]);
    BufferedReader tasks =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try {
      Client client = candidate.opener().open(args[2]);
      Worker worker = new Worker(client, new Arena(Path.of(args[3])), threadsBefore);
      answers.println(ANSWER + "ready");
      for (String line = tasks.readLine(); line != null; line = tasks.readLine()) {
        Sample sample = worker.perform(json.readValue(line, Task.class));
        answers.println(ANSWER + json.writeValueAsString(sample));
      }
    } finally {
      // Ends the JVM even if a candidate's threads are still running.
      System.exit(0);
    }
  }

  private Sample perform(Task task) throws Exception {
    while (threads.size() < task.threads()) {
      int number = threads.size();
      threads.add(Executors.newSingleThreadExecutor(work -> {
        Thread thread = new Thread(work, "bench-worker-" + number);
        users.add(thread.getId());
        return thread;
      }));
      mutexes.add(new HashMap<>());
    }
    return switch (task.action()) {
      case TOUCH -> together(task, number -> touch(task, number));
      case CYCLES, STAYS -> together(task, number -> cycles(task, number));
      case HAND_OFF -> together(task, number -> handOff(task));
      // Not on a worker's thread: they may be waiting for a lock.
      case WATCH ->
        measured(() -> {
          TimeUnit.MILLISECONDS.sleep(task.millis());
          return List.of();
        });
      case COLLECT ->
        measured(() -> {
          System.gc();
          return List.of();
        });
      case TAKE -> together(task, number -> take(task, number));
      case GIVE -> together(task, number -> give());
      case WAIT -> {
        CountDownLatch begun = new CountDownLatch(task.threads());
        waiting = start(task, number -> waitFor(task, number, begun));
        yield measured(() -> {
          begun.await();
          return List.of();
        });
      }
      case DRAIN -> measured(() -> results(waiting));
    };
  }

  @FunctionalInterface
  private interface Work {
    Turns run(int number) throws Exception;
  }

  /** The turns of one thread. */
  private static final class Turns {
    private final Histogram latencies = new Histogram(3);
    private long count;
    private long violations;
  }

  private Sample together(Task task, Work work) throws Exception {
    return measured(() -> results(start(task, work)));
  }

  private List<Future<Turns>> start(Task task, Work work) {
    CountDownLatch ready = new CountDownLatch(task.threads());
    List<Future<Turns>> running = new ArrayList<>();
    for (int i = 0; i < task.threads(); i++) {
      int number = i;
      running.add(threads.get(i).submit(() -> {
        ready.countDown();
        ready.await();
        return work.run(number);
      }));
    }
    return running;
  }

  private static List<Turns> results(List<Future<Turns>> running) throws Exception {
    List<Turns> results = new ArrayList<>();
    for (Future<Turns> one : running) {
      results.add(one.get());
    }
    return results;
  }

  private Sample measured(Callable<List<Turns>> work) {
    long cpu = systemBean.getProcessCpuTime();
    long compiled = compiler.getTotalCompilationTime();
    Map<Long, Long> allocatedBefore = allocatedByThread();
    Map<Long, Long> ownCpuBefore = cpuByOwnThread();
    long begun = System.nanoTime();
    List<Turns> results = List.of();
    String error = null;
    try {
      results = work.call();
    } catch (ExecutionException e) {
      error = String.valueOf(e.getCause());
      e.printStackTrace();
    } catch (Exception e) {
      error = e.toString();
    }
    long elapsed = System.nanoTime() - begun;
    Histogram latencies = new Histogram(3);
    results.forEach(turns -> latencies.add(turns.latencies));
    return new Sample(
        results.stream().map(turns -> turns.count).toList(),
        Sample.encode(latencies),
        elapsed,
        systemBean.getProcessCpuTime() - cpu,
        since(ownCpuBefore, cpuByOwnThread()),
        compiler.getTotalCompilationTime() - compiled,
        since(allocatedBefore, allocatedByThread()),
        ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
        ownThreads().length,
        results.stream().mapToLong(turns -> turns.violations).sum(),
        error);
  }

  private Map<Long, Long> allocatedByThread() {
    long[] ids = threadBean.getAllThreadIds();
    return byThread(ids, threadBean.getThreadAllocatedBytes(ids));
  }

  private Map<Long, Long> cpuByOwnThread() {
    long[] ids = ownThreads();
    return byThread(ids, threadBean.getThreadCpuTime(ids));
  }

  /** Returns the values by thread; zero for a thread that has ended, whose value is negative. */
  private static Map<Long, Long> byThread(long[] ids, long[] values) {
    Map<Long, Long> byThread = new HashMap<>();
    for (int i = 0; i < ids.length; i++) {
      byThread.put(ids[i], Math.max(0, values[i]));
    }
    return byThread;
  }

  /** Returns the threads that the candidate has besides those that use it. */
  private long[] ownThreads() {
    return LongStream.of(threadBean.getAllThreadIds())
        .filter(id -> !threadsBefore.contains(id) && !users.contains(id))
        .toArray();
  }

  /**
   * Sums the differences thread by thread: otherwise a thread that ended meanwhile would count as
   * negative.
   */
  private static long since(Map<Long, Long> before, Map<Long, Long> now) {
    return now.entrySet().stream()
        .mapToLong(thread -> thread.getValue() - before.getOrDefault(thread.getKey(), 0L))
        .sum();
  }

  private Mutex mutex(int number, String name) throws Exception {
    Map<String, Mutex> own = mutexes.get(number);
    Mutex mutex = own.get(name);
    if (mutex == null) {
      mutex = client.mutex(name);
      own.put(name, mutex);
    }
    return mutex;
  }

  private Turns touch(Task task, int number) throws Exception {
    Turns turns = new Turns();
    for (int turn = 0; turn < task.share(number); turn++) {
      int name = task.name(number, turn);
      cycle(task, mutex(number, task.prefix() + name), name, turns);
    }
    return turns;
  }

  private Turns cycles(Task task, int number) throws Exception {
    // Looked up only once, since it would be measured otherwise.
    @Nullable Mutex[] own = new Mutex[task.share(number)];
    Turns turns = new Turns();
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(task.millis());
    for (long begun = System.nanoTime(); begun < end; begun = System.nanoTime()) {
      int turn = (int) (turns.count % own.length);
      int name = task.name(number, turn);
      Mutex mutex = own[turn];
      if (mutex == null) {
        mutex = mutex(number, task.prefix() + name);
        own[turn] = mutex;
      }
      cycle(task, mutex, name, turns);
      turns.latencies.recordValue(System.nanoTime() - begun);
    }
    return turns;
  }

  private void cycle(Task task, Mutex mutex, int name, Turns turns) throws Exception {
    mutex.lock();
    Share share = mutex.share();
    if (!arena.enter(name, share)) {
      turns.violations++;
    }
    if (task.action() == Task.Action.STAYS) {
      hold(task);
    }
    arena.leave(name, share);
    mutex.unlock();
    turns.count++;
  }

  private static void hold(Task task) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(1, task.holdMillisMax() + 1));
  }

  /** Takes turns with the other worker: each waits for the lock before the other releases it. */
  private Turns handOff(Task task) throws Exception {
    int self = task.first();
    int other = 1 - self;
    Mutex mutex = mutex(0, task.prefix());
    Turns turns = new Turns();
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(task.millis());
    try {
      while (System.nanoTime() < end) {
        arena.set(WAITING + self, 1);
        mutex.lock();
        long got = System.nanoTime();
        if (!arena.enter(0, mutex.share())) {
          turns.violations++;
        }
        if (arena.get(HOLDER) == other + 1) {
          turns.latencies.recordValue(Math.max(0, got - arena.get(RELEASED_AT)));
          turns.count++;
        }
        arena.set(WAITING + self, 0);
        arena.set(HOLDER, self + 1);
        await(() -> arena.get(WAITING + other) == 1 || arena.get(DONE + other) == 1);
        hold(task);
        arena.leave(0, mutex.share());
        arena.set(RELEASED_AT, System.nanoTime());
        mutex.unlock();
        await(() -> arena.get(HOLDER) == other + 1 || arena.get(DONE + other) == 1);
      }
    } finally {
      arena.set(DONE + self, 1);
    }
    return turns;
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(50_000);
    }
  }

  private Turns take(Task task, int number) throws Exception {
    Turns turns = new Turns();
    for (int turn = 0; turn < task.share(number); turn++) {
      // Not remembered by name: so many of them would only cost memory.
      Mutex mutex = client.mutex(task.prefix() + task.name(number, turn));
      long begun = System.nanoTime();
      mutex.lock();
      turns.latencies.recordValue(System.nanoTime() - begun);
      turns.count++;
      taken.add(mutex);
    }
    return turns;
  }

  private Turns give() throws Exception {
    Turns turns = new Turns();
    for (Mutex mutex : taken) {
      mutex.unlock();
    }
    taken.clear();
    return turns;
  }

  private Turns waitFor(Task task, int number, CountDownLatch begun) throws Exception {
    Mutex mutex;
    try {
      mutex = mutex(number, task.prefix() + 0); // It may have to connect first.
    } finally {
      begun.countDown();
    }
    Turns turns = new Turns();
    cycle(task, mutex, 0, turns);
    return turns;
  }
}
