package io.holdfast.lock.injection;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.injection.CallsOut.Place;
import io.holdfast.lock.injection.CallsOut.Point;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every call that the engine makes to code that is not its own fails once, in every life cycle of a
 * lease: those to the store, to the clocks, to listeners, to the user's executor, to the log, and
 * for new threads. Whatever was thrown, the lock is free within its crash bound (L-4.1, L-6.9), the
 * client's other lease is held (L-5.5), nothing is renewed that nobody holds, the same client can
 * acquire the lock again, no thread spins, and the client can be closed (L-10.4).
 *
 * <p>A life cycle is played once to see which calls it makes, and then once for each of them. The
 * full product of calls and throwables takes minutes and is for the soak tests; here each call gets
 * one of the throwables, always the same, and of many calls from one place the first and the last.
 */
class InjectionTest {
  private static final int WORLDS = 3;
  private static final int FAILURES_SHOWN = 5;

  /** The number of further plays that find the calls which not every play makes. */
  private static final int PLAYS = 5;

  /** From this version of Java on, pools start their threads past {@code Thread.start()}. */
  private static final int START_IS_FINAL_SINCE = 19;

  /** Each line of the log, down to the debug level, is a call out. */
  private static EngineLog log;

  @BeforeAll
  static void hookTheLog() {
    log = new EngineLog(Level.DEBUG, line -> {
      CallsOut calls = CallsOut.ofThread();
      if (calls != null) {
        calls.at("Logger");
      }
    });
  }

  @AfterAll
  static void unhookTheLog() {
    log.close();
  }

  static List<LifeCycle> cycles() {
    return LifeCycles.all();
  }

  @ParameterizedTest
  @MethodSource("cycles")
  void aFailureOfAnyCallOutOfTheEngineLeavesNothingTakenAndNothingStopped(LifeCycle cycle)
      throws Exception {
    injectAll(cycle, false);
  }

  @ParameterizedTest
  @MethodSource("cycles")
  @Tag("soak")
  void anyThrowableFromAnyCallOutOfTheEngineLeavesNothingTakenAndNothingStopped(LifeCycle cycle)
      throws Exception {
    injectAll(cycle, true);
  }

  private static void injectAll(LifeCycle cycle, boolean full) throws Exception {
    CallsOut counted = CallsOut.counted();
    Run.play(cycle, counted);
    List<Future<Boolean>> runs = new ArrayList<>();
    ExecutorService worlds = Executors.newFixedThreadPool(WORLDS);
    try {
      counted.counts().forEach((place, count) -> {
        for (Point point : points(place, count, full)) {
          for (Fault fault : faults(point, full)) {
            runs.add(worlds.submit(() -> inject(cycle, point, fault)));
          }
        }
      });
      assertThat(counted.counts()).as("places").hasSizeGreaterThan(20);
      check(runs);
    } finally {
      worlds.shutdownNow();
    }
  }

  private static boolean inject(LifeCycle cycle, Point point, Fault fault) {
    CallsOut calls = CallsOut.failing(point, fault);
    try {
      Run.play(cycle, calls);
      return calls.hasFailed();
    } catch (Throwable e) {
      throw new AssertionError(
          cycle + ": " + fault + (calls.hasFailed() ? "" : " (not thrown)") + " at " + point, e);
    }
  }

  private static void check(List<Future<Boolean>> runs) throws InterruptedException {
    int thrown = 0;
    List<Throwable> failures = new ArrayList<>();
    for (Future<Boolean> run : runs) {
      try {
        thrown += run.get() ? 1 : 0;
      } catch (java.util.concurrent.ExecutionException e) {
        failures.add(e.getCause());
      }
    }
    if (!failures.isEmpty()) {
      AssertionError all =
          new AssertionError(failures.size() + " of " + runs.size() + " runs, the first of them: "
              + failures.stream()
                  .limit(FAILURES_SHOWN)
                  .map(failure -> failure.getMessage() + ": " + failure.getCause())
                  .collect(Collectors.joining("\n", "\n", "")));
      failures.stream().limit(FAILURES_SHOWN).forEach(all::addSuppressed);
      throw all;
    }
    // The keeper and others are not always at the same place at the same time.
    assertThat(thrown).as("calls that failed").isGreaterThan(runs.size() / 2);
  }

  private static List<Point> points(Place place, int count, boolean full) {
    IntStream all =
        full ? IntStream.rangeClosed(1, count) : IntStream.of(1, count).distinct();
    return all.mapToObj(nth -> new Point(place, nth)).toList();
  }

  private static List<Fault> faults(Point point, boolean full) {
    List<Fault> all = faults(point.place().call());
    return full ? all : List.of(all.get(Math.floorMod(point.toString().hashCode(), all.size())));
  }

  private static List<Fault> faults(String call) {
    List<Fault> faults = new ArrayList<>(
        List.of(Fault.MEMORY, Fault.STACK, Fault.RUNTIME, Fault.UNDECLARED, Fault.THREAD_DEATH));
    if (call.startsWith("Executor.")) {
      faults.add(Fault.REJECTED);
      if (call.equals("Executor.execute")) {
        faults.add(Fault.DROPPED);
      }
    }
    if (call.startsWith("LockStore.")
        || call.startsWith("PermitStore.")
        || call.startsWith("Ticket.")) {
      faults.add(Fault.UNANSWERED);
      if (!call.endsWith(", done")) {
        faults.add(Fault.REFUSED);
      }
    }
    return faults;
  }

  @Test
  void everyMethodOfOthersThatTheEngineCallsFailsSomewhere() {
    Set<String> called = new TreeSet<>();
    Set<String> threads = new TreeSet<>();
    for (Place place : places()) {
      called.add(place.call());
      threads.add(place.thread());
    }

    for (Class<?> type :
        List.of(LockStore.class, PermitStore.class, Ticket.class, TimeSource.class)) {
      assertThat(called).containsAll(methods(type));
    }
    assertThat(called).containsAll(methods(LockListener.class));
    assertThat(called).contains("onLost", "Logger", "Executor.execute");
    for (String sort : List.of("renewal", "clean-up", "settlement", "callback")) {
      assertThat(called).contains("ThreadFactory.newThread(" + sort + ")");
      if (Runtime.version().feature() < START_IS_FINAL_SINCE) {
        assertThat(called).contains("Thread.start(" + sort + ")");
      }
    }
    assertThat(threads).containsAll(CallsOut.SORTS).contains("caller", "waiter", "store");
  }

  private static List<String> methods(Class<?> type) {
    return Stream.of(type.getDeclaredMethods())
        .filter(method -> !Modifier.isStatic(method.getModifiers()) && !method.isSynthetic())
        .map(Method::getName)
        .map(name -> type.getSimpleName() + "." + name)
        .toList();
  }

  /** The places are listed, so that whoever adds one sees to it that a life cycle comes there. */
  @Test
  void noPlaceCallsOutThatIsNotListed() throws Exception {
    Set<String> found = places().stream()
        .filter(place -> !place.call().endsWith(", done"))
        .map(place -> place.caller() + " -> " + place.call())
        .collect(Collectors.toCollection(TreeSet::new));
    Set<String> notListed = new TreeSet<>(found);
    Set<String> notFound = new TreeSet<>();
    for (String line : listed()) {
      boolean each = !line.endsWith("?");
      String place = each ? line : line.substring(0, line.length() - 2);
      notListed.remove(place);
      if (each && !found.contains(place)) {
        notFound.add(place);
      }
    }

    assertThat(notListed).as("not in %s", LISTED).isEmpty();
    assertThat(notFound).as("only in %s", LISTED).isEmpty();
  }

  private static final String LISTED = "calls-out.txt";

  /** One place a line; a question mark at its end: it is not come to each time. */
  private static List<String> listed() throws IOException {
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(
        InjectionTest.class.getResourceAsStream(LISTED), StandardCharsets.UTF_8))) {
      return reader.lines().filter(line -> !line.startsWith("#")).toList();
    }
  }

  private static Set<Place> places() {
    Set<Place> places = new TreeSet<>();
    for (LifeCycle cycle : LifeCycles.all()) {
      for (int play = 0; play < PLAYS; play++) {
        CallsOut calls = CallsOut.counted();
        Run.play(cycle, calls);
        places.addAll(calls.counts().keySet());
      }
    }
    return places;
  }
}
