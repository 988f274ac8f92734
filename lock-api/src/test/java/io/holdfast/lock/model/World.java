package io.holdfast.lock.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Time, and all that happens in it, on one real thread: one step of one virtual thread after the
 * other, and when none can go on, time passes until something is due. Which thread goes on is
 * diced, so that an episode is the same each time.
 */
final class World {
  /** So many steps are a loop. */
  private static final int STEPS_MAX = 400_000;

  private final Thread self = Thread.currentThread();
  private final Dice dice = new Dice();
  private final @Nullable StringBuilder trace;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final List<Machine> machines = new ArrayList<>();
  private Runnable check = () -> {};

  private long nanos;
  private long eventsMade;
  private int steps;
  private @Nullable Broken broken;
  private boolean running;

  /** One reading of a clock of so many lets other threads go on first. */
  private int lingersOneIn = 16;

  /** One of those of so many takes long; 0: none. */
  private int stallsOneIn;

  private long stallNanosMax;

  private record Event(long atNanos, long order, Runnable what) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(atNanos, other.atNanos);
      return byTime != 0 ? byTime : Long.compare(order, other.order);
    }
  }

  World(long seed, @Nullable StringBuilder trace) {
    this.trace = trace;
    Dice unused = dice.of(seed);
  }

  void add(Machine machine) {
    machines.add(machine);
  }

  /** To be done after each step. */
  void check(Runnable always) {
    check = always;
  }

  void stalls(int oneIn, long nanosMax) {
    stallsOneIn = oneIn;
    stallNanosMax = nanosMax;
  }

  void lingers(int oneIn) {
    lingersOneIn = oneIn;
  }

  long nanos() {
    return nanos;
  }

  int steps() {
    return steps;
  }

  void after(long inNanos, Runnable what) {
    events.add(new Event(nanos + inNanos, eventsMade++, what));
  }

  /** The first is kept. */
  void fail(Broken e) {
    if (broken == null) {
      broken = e;
    }
  }

  // For the machines

  /** Whether it is our real thread, or one that it runs, that asks. */
  boolean isInside() {
    Thread thread = Thread.currentThread();
    return thread == self || (running && isVirtual(thread));
  }

  static boolean isVirtual(Thread thread) {
    return thread.getClass().getName().equals("java.lang.VirtualThread");
  }

  boolean lingers() {
    return Thread.currentThread() != self && dice.oneIn(lingersOneIn);
  }

  boolean diceOneIn(int n) {
    return dice.oneIn(n);
  }

  long stallNanos() {
    return stallsOneIn > 0 && dice.oneIn(stallsOneIn) ? dice.upTo(stallNanosMax) : 0;
  }

  // Running

  /** Until that is so; false: time is up. */
  boolean run(BooleanSupplier until, long mostNanos) {
    long endNanos = nanos + mostNanos;
    running = true;
    while (true) {
      if (until.getAsBoolean()) {
        return true;
      }
      if (runOne()) {
        if (++steps > STEPS_MAX) {
          throw new Broken(Rule.ENDS, "all goes round in circles");
        }
      } else {
        long next = nextNanos();
        if (next > endNanos) {
          pass(Math.max(0, endNanos - nanos));
          return until.getAsBoolean();
        }
        pass(next - nanos);
        Event event = events.peek();
        if (event != null && event.atNanos <= nanos) {
          events.remove();
          event.what.run();
        }
      }
      check.run();
      Broken found = broken;
      if (found != null) {
        throw found;
      }
    }
  }

  private boolean runOne() {
    int runnable = 0;
    for (Machine machine : machines) {
      if (machine.isRunnable()) {
        runnable++;
      }
    }
    if (runnable == 0) {
      return false;
    }
    int which = runnable == 1 ? 0 : dice.below(runnable);
    for (Machine machine : machines) {
      if (machine.isRunning() && machine.hasReady() && which-- == 0) {
        machine.runOne(dice);
        return true;
      }
    }
    throw new AssertionError("One was runnable");
  }

  private long nextNanos() {
    Event event = events.peek();
    long next = event == null ? Long.MAX_VALUE : event.atNanos;
    for (Machine machine : machines) {
      long left = machine.toNextSleeper();
      if (left < Long.MAX_VALUE / 2) {
        next = Math.min(next, nanos + left);
      }
    }
    return next;
  }

  private void pass(long byNanos) {
    nanos += byNanos;
    for (Machine machine : machines) {
      machine.pass(byNanos);
      machine.wakeSleepers();
    }
  }

  /** So that no thread is left. */
  void end() {
    machines.forEach(Machine::bury);
    running = false;
  }

  // The story

  void say(Supplier<String> what) {
    if (trace != null) {
      trace.append(String.format(Locale.ROOT, "%14s  %s%n", millis(nanos), what.get()));
    }
  }

  static String millis(long nanos) {
    return String.format(Locale.ROOT, "%,.3f ms", nanos / 1e6);
  }
}
