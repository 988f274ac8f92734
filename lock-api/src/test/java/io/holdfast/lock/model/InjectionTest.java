package io.holdfast.lock.model;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.model.CallsOut.Place;
import io.holdfast.lock.model.CallsOut.Point;
import io.holdfast.lock.simulation.EngineLog;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;
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
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
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
@EnabledForJreRange(
    min = JRE.JAVA_25,
    disabledReason = "its threads are virtual ones, with a scheduler of ours")
class InjectionTest {
  /** Each line of the log, down to the debug level, is a call out; not those of other tests. */
  private static EngineLog log;

  /** Of the engine that is played now. */
  private static CallsOut calls = CallsOut.counted();

  @BeforeAll
  static void hookTheLog() {
    log = new EngineLog(Level.DEBUG, line -> {
      if (World.isVirtual(Thread.currentThread())) {
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
  void aFailureOfAnyCallOutOfTheEngineLeavesNothingTakenAndNothingStopped(LifeCycle cycle) {
    injectAll(cycle, false);
  }

  @ParameterizedTest
  @MethodSource("cycles")
  @Tag("soak")
  void anyThrowableFromAnyCallOutOfTheEngineLeavesNothingTakenAndNothingStopped(LifeCycle cycle) {
    injectAll(cycle, true);
  }

  private static void injectAll(LifeCycle cycle, boolean full) {
    CallsOut counted = CallsOut.counted();
    play(cycle, counted);
    List<String> broken = new ArrayList<>();
    counted.counts().forEach((place, count) -> {
      for (int nth = 1; nth <= count; nth += full ? 1 : Math.max(1, count - 1)) {
        Point point = new Point(place, nth);
        failures(point, full)
            .forEach(failure -> inject(cycle, point, failure).ifPresent(broken::add));
      }
    });
    assertThat(counted.counts()).as("places").hasSizeGreaterThan(10);
    assertThat(broken).isEmpty();
  }

  private static Optional<String> inject(LifeCycle cycle, Point point, Failure failure) {
    CallsOut calls = CallsOut.failing(point, failure);
    String what = cycle + ": " + failure + " at " + point;
    try {
      play(cycle, calls);
    } catch (Broken e) {
      return Optional.of(what + ": " + e.getMessage());
    }
    return calls.hasFailed() ? Optional.empty() : Optional.of(what + ": did not come there");
  }

  private static void play(LifeCycle cycle, CallsOut itsCalls) {
    calls = itsCalls;
    new Episode(cycle, itsCalls).play();
  }

  private static List<Failure> failures(Point point, boolean full) {
    List<Failure> all = failures(point.place().call());
    return full ? all : List.of(all.get(Math.floorMod(point.toString().hashCode(), all.size())));
  }

  private static List<Failure> failures(String call) {
    List<Failure> failures = new ArrayList<>(List.of(
        Failure.MEMORY, Failure.STACK, Failure.RUNTIME, Failure.UNDECLARED, Failure.THREAD_DEATH));
    if (call.startsWith("Executor.")) {
      failures.add(Failure.REJECTED);
      if (call.equals("Executor.execute")) {
        failures.add(Failure.DROPPED);
      }
    }
    if (call.startsWith("LockStore.")
        || call.startsWith("PermitStore.")
        || call.startsWith("ReadWriteStore.")
        || call.startsWith("Ticket.")) {
      failures.add(Failure.UNANSWERED);
      if (!call.endsWith(", done")) {
        failures.add(Failure.REFUSED);
      }
    }
    return failures;
  }

  @Test
  void everyMethodOfOthersThatTheEngineCallsFailsSomewhere() {
    Set<String> called = new TreeSet<>();
    Set<String> threads = new TreeSet<>();
    for (Place place : places()) {
      called.add(place.call());
      threads.add(place.thread());
    }

    Stream.of(
            LockStore.class,
            PermitStore.class,
            ReadWriteStore.class,
            Ticket.class,
            TimeSource.class,
            LockListener.class)
        .forEach(type -> assertThat(called).containsAll(methods(type)));
    assertThat(called).contains("onLost", "Logger", "Executor.execute");
    for (String sort : List.of("renewal", "clean-up", "settlement", "callback")) {
      assertThat(called).contains("ThreadFactory.newThread(" + sort + ")");
      assertThat(threads).contains(sort);
    }
    assertThat(threads).contains("keeper", "caller", "waiter", "store");
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
    notListed.removeAll(listed());
    Set<String> notFound = new TreeSet<>(listed());
    notFound.removeAll(found);

    assertThat(notListed).as("not in %s", LISTED).isEmpty();
    assertThat(notFound).as("only in %s", LISTED).isEmpty();
  }

  private static final String LISTED = "calls-out.txt";

  /** One place a line. */
  private static Set<String> listed() throws IOException {
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(
        InjectionTest.class.getResourceAsStream(LISTED), StandardCharsets.UTF_8))) {
      return reader.lines().filter(line -> !line.startsWith("#")).collect(Collectors.toSet());
    }
  }

  private static Set<Place> places() {
    Set<Place> places = new TreeSet<>();
    for (LifeCycle cycle : LifeCycles.all()) {
      CallsOut counted = CallsOut.counted();
      play(cycle, counted);
      places.addAll(counted.counts().keySet());
    }
    return places;
  }
}
