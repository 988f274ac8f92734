package io.holdfast.lock.injection;

import java.lang.StackWalker.StackFrame;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
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
  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final ThreadLocal<@Nullable CallsOut> OF_THREAD = new ThreadLocal<>();

  private final @Nullable Point target;
  private final @Nullable Fault fault;
  private final Map<Place, Integer> counts = new ConcurrentHashMap<>();
  private final AtomicBoolean failed = new AtomicBoolean();
  private final AtomicLong all = new AtomicLong();
  private volatile boolean counting;

  private CallsOut(@Nullable Point target, @Nullable Fault fault) {
    this.target = target;
    this.fault = fault;
  }

  /** Nothing fails. */
  static CallsOut counted() {
    return new CallsOut(null, null);
  }

  /** One call fails; and from then on the log, which is where most failures are told. */
  static CallsOut failing(Point point, Fault fault) {
    return new CallsOut(point, fault);
  }

  /** That of the engine which the calling thread works for, as far as it is known. */
  static @Nullable CallsOut ofThread() {
    return OF_THREAD.get();
  }

  void begin() {
    counting = true;
  }

  void end() {
    counting = false;
  }

  /** Whether the call came that was to fail. */
  boolean hasFailed() {
    return failed.get();
  }

  /** The number of calls from each place. */
  Map<Place, Integer> counts() {
    return new ConcurrentSkipListMap<>(counts);
  }

  /** The number of all calls, of all time. */
  long all() {
    return all.get();
  }

  /** The calling thread works for this engine. */
  void enter() {
    OF_THREAD.set(this);
  }

  /** The engine calls out; throws if this is the call that is to fail. */
  void at(String call) {
    OF_THREAD.set(this);
    all.incrementAndGet();
    if (!counting) {
      return;
    }
    if (fault != null && failed.get()) {
      if (call.equals("Logger")) {
        throw fault.thrown();
      }
      return;
    }
    String thread = sort(Thread.currentThread().getName());
    Point point = target;
    if (point != null) {
      Place place = point.place();
      if (!place.call().equals(call) || !place.thread().equals(thread)) {
        return;
      }
    }
    Place here = new Place(thread, call, path());
    int nth = counts.merge(here, 1, Integer::sum);
    if (point != null
        && fault != null
        && point.nth() == nth
        && point.place().equals(here)
        && failed.compareAndSet(false, true)) {
      throw fault.thrown();
    }
  }

  private static String path() {
    return WALKER.walk(frames -> frames
        .filter(frame -> frame.getClassName().startsWith(ENGINE))
        .filter(frame -> !frame.getClassName().startsWith(ENGINE + "memory."))
        .map(CallsOut::name)
        .collect(Collectors.joining("<")));
  }

  private static String name(StackFrame frame) {
    String type = frame.getClassName();
    String method = frame.getMethodName().replaceAll("[$]\\d+$", "");
    return type.substring(type.lastIndexOf('.') + 1)
        + "."
        + (method.equals("<init>") ? "new" : method);
  }

  /** The sort of a thread of the engine, or the name of one that is not. */
  static String sort(String threadName) {
    for (String sort : SORTS) {
      if (threadName.startsWith("holdfast-") && threadName.contains("-" + sort)) {
        return sort;
      }
    }
    return threadName;
  }

  static final List<String> SORTS =
      List.of("keeper", "renewal", "clean-up", "settlement", "callback");
}
