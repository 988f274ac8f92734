package io.holdfast.lock.model;

import io.holdfast.lock.LockListener;
import io.holdfast.lock.simulation.Sneaky;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Ticket;
import java.lang.StackWalker.StackFrame;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The calls that one engine makes to code that is not its own: counted, and one of them fails. */
final class CallsOut {
  /**
   * A place from which the engine calls out.
   *
   * @param thread the sort of the thread: the engine's, or the name of a user's
   * @param call the method that is called, and whether it was carried out
   * @param path the engine's methods that led there, the last first
   */
  record Place(String thread, String call, String path) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      return toString().compareTo(other.toString());
    }

    /** The method of the engine that calls; where it logs, the one that does. */
    String caller() {
      return Stream.of(path.split("<"))
          .filter(method -> !method.startsWith("SafeLogger."))
          .filter(method -> !method.startsWith("Clocks."))
          .findFirst()
          .orElse("");
    }

    @Override
    public String toString() {
      return thread + ": " + call + " <- " + path;
    }
  }

  /** A call: the n-th from a place. */
  record Point(Place place, int nth) {
    @Override
    public String toString() {
      return place + " #" + nth;
    }
  }

  private static final String ENGINE = "io.holdfast.lock.internal.";
  private static final Set<String> READINGS = Set.of("TimeSource.nanos", "TimeSource.wallMillis");
  private static final StackWalker WALKER = StackWalker.getInstance();

  private final @Nullable Point target;
  private final @Nullable Failure failure;
  private final SortedMap<Place, Integer> counts = new TreeMap<>();
  private final Map<String, Queue<Answering>> next = new HashMap<>();
  private Runnable whenFailed = () -> {};
  private boolean counting;
  private boolean failed;
  private int all;

  private CallsOut(@Nullable Point target, @Nullable Failure failure) {
    this.target = target;
    this.failure = failure;
  }

  /** Nothing fails. */
  static CallsOut counted() {
    return new CallsOut(null, null);
  }

  /** One call fails; and from then on the log, which is where most failures are told. */
  static CallsOut failing(Point point, Failure failure) {
    return new CallsOut(point, failure);
  }

  /** Counts from now on; does this where the call fails. */
  void begin(Runnable toDoOnFailure) {
    whenFailed = toDoOnFailure;
    counting = true;
  }

  /** From now on nothing fails. */
  void end() {
    counting = false;
    next.clear();
  }

  /** Whether the call came that was to fail. */
  boolean hasFailed() {
    return failed;
  }

  /** The number of calls from each place. */
  SortedMap<Place, Integer> counts() {
    return counts;
  }

  /** The number of all calls, of all time. */
  int all() {
    return all;
  }

  /** The engine calls out; throws if this is the call that is to fail. */
  void at(String call) {
    all++;
    VirtualThreads.seedNextRandom(all * 0x9E3779B97F4A7C15L);
    if (!counting) {
      return;
    }
    if (failure != null && failed) {
      if (call.equals("Logger")) {
        throw failure.thrown();
      }
      return;
    }
    String thread = Thread.currentThread().getName();
    Point point = target;
    if (point != null) {
      Place place = point.place();
      if (!place.call().equals(call) || !place.thread().equals(thread)) {
        return;
      }
    }
    Place here = new Place(thread, call, path());
    int nth = counts.merge(here, 1, Integer::sum);
    if (failure != null && new Point(here, nth).equals(point)) {
      failed = true;
      whenFailed.run();
      throw failure.thrown();
    }
  }

  // What the engine calls

  /** A way to answer a call: it is carried out, or not. */
  interface Answering {
    @Nullable
    Object answer(Callable<@Nullable Object> call) throws Exception;
  }

  /** The next such call without one is answered this way. */
  void next(String call, Answering answering) {
    next.computeIfAbsent(call, c -> new ArrayDeque<>()).add(answering);
  }

  /**
   * The same for the engine to call. A call that can wait is two calls out: before it is carried
   * out, and after.
   */
  <T> T through(Class<T> type, T target) {
    return type.cast(Proxy.newProxyInstance(
        type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
          String call = method.getDeclaringClass().getSimpleName() + "." + method.getName();
          at(call);
          Queue<Answering> answers = next.getOrDefault(call, new ArrayDeque<>());
          Answering own = answers.isEmpty() ? Callable::call : answers.remove();
          Object answer = own.answer(() -> carriedOut(method, target, arguments));
          if (type != LockListener.class && !READINGS.contains(call)) {
            at(call + ", done");
          }
          return answer instanceof Acquisition.Queued queued
              ? new Acquisition.Queued(
                  through(Ticket.class, queued.ticket()), queued.recheckAfter())
              : answer;
        }));
  }

  private static @Nullable Object carriedOut(Method method, Object target, Object[] arguments)
      throws Exception {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw Sneaky.thrown(e.getCause());
    }
  }

  /** The threads of an engine: making one is a call out. */
  BiFunction<Runnable, String, Thread> threads(BiFunction<Runnable, String, Thread> made) {
    return (task, sort) -> {
      at("ThreadFactory.newThread(" + sort + ")");
      return made.apply(task, sort);
    };
  }

  /** A user's executor, which has a thread for each task. */
  Executor executor(BiFunction<Runnable, String, Thread> threads) {
    return task -> {
      try {
        at("Executor.execute");
      } catch (CancellationException e) {
        return;
      }
      threads.apply(task, "executor").start();
      at("Executor.execute, done");
    };
  }

  private static String path() {
    return WALKER.walk(frames -> frames
        .filter(frame -> isEngine(frame.getClassName()))
        .map(CallsOut::name)
        .collect(Collectors.joining("<")));
  }

  private static boolean isEngine(String type) {
    return type.startsWith(ENGINE) && !type.endsWith("Probe") && !type.endsWith("ModelEngine");
  }

  private static String name(StackFrame frame) {
    String type = frame.getClassName();
    String method = frame.getMethodName().replaceAll("[$]\\d+$", "");
    return type.substring(type.lastIndexOf('.') + 1)
        + "."
        + (method.equals("<init>") ? "new" : method);
  }
}
