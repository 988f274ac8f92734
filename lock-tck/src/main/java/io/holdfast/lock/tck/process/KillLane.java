package io.holdfast.lock.tck.process;

import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.Timing;
import io.holdfast.lock.tck.process.Register.Right;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * A few processes that contend for one lock and one semaphore. One after the other is killed, at a
 * moment that chance or what it holds decides, and another takes its place.
 */
final class KillLane implements AutoCloseable {
  private static final int PROCESSES = 3;

  /** The threads of each process that want to read, and that want to write. */
  private static final int THREADS = 2;

  /** One more than there are permits, so that permits are handed on, too. */
  private static final int PERMIT_THREADS = 4;

  private static final int SEATS = 2 * THREADS + PERMIT_THREADS;

  /**
   * More of the store's grants than there are threads in one line at any time, so that a dead one
   * in it had its turn.
   */
  private static final int TURNS_MIN = PROCESSES * SEATS;

  /** The first may have begun just before. */
  private static final int TURNS_OF_EACH_MIN = 2;

  /** As the specification has it; the fixture's slack has room for more than crashes. */
  private static final Duration A_LITTLE = Duration.ofSeconds(5);

  private static final int RANDOM_MILLIS_MAX = 300;
  private static final Duration START_MAX = Duration.ofSeconds(60);

  private static final Duration POLL = Duration.ofMillis(5);

  /** Short, since what a process holds is over within milliseconds. */
  private static final Duration BRIEF_POLL = Duration.ofNanos(200_000);

  private final Fixture fixture;
  private final String name;
  private final Path folder;
  private final Register register;
  private final Set<Right> rights;
  private final ExecutorService starter =
      Executors.newSingleThreadExecutor(task -> new Thread(task, "child-starter"));
  private final Queue<ChildProcess> started = new ConcurrentLinkedQueue<>();
  private final List<Victim> victims = new ArrayList<>();
  private int seats;

  /** A process with the first of its threads' seats. */
  private record Victim(ChildProcess process, int firstSeat) {}

  KillLane(Fixture fixture, String name, Path folder) {
    this.fixture = fixture;
    this.name = name;
    this.folder = folder;
    this.register = Contention.register(folder);
    this.rights = EnumSet.of(Right.WRITE);
    if (fixture.capabilities().contains(Capability.READ_WRITE_LOCKS)) {
      rights.add(Right.READ);
    }
    if (fixture.capabilities().contains(Capability.SEMAPHORES)) {
      rights.addAll(EnumSet.range(Right.PERMIT_0, Right.PERMIT_2));
    }
  }

  /** Kills this many processes; returns what they held, and how long others were kept out. */
  Tally kill(int times) throws Exception {
    while (victims.size() < PROCESSES) {
      victims.add(start());
    }
    Tally tally = new Tally();
    List<Right> order = List.copyOf(rights);
    for (int i = 0; i < times; i++) {
      int chosen = ThreadLocalRandom.current().nextInt(PROCESSES);
      Victim victim = victims.get(chosen);
      // Every other time it is left to chance what it holds.
      if (i % 2 == 0) {
        TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(RANDOM_MILLIS_MAX));
      } else {
        Right right = order.get(i / 2 % order.size());
        await(
            "a process that has " + right,
            START_MAX,
            BRIEF_POLL,
            () -> held(victim).contains(right));
      }
      victim.process().kill();
      long killedNanos = System.nanoTime();
      Future<Victim> next = starter.submit(this::start);
      Set<Right> held = held(victim);
      awaitTurns(killedNanos, "after a process was killed that had " + held);
      tally.count(held, Duration.ofNanos(System.nanoTime() - killedNanos));
      checkFaults();
      victims.set(chosen, get(next));
    }
    checkFaults();
    tally.countFailures(failures());
    return tally;
  }

  /** Returns the rights that the processes contend for. */
  Set<Right> rights() {
    return rights;
  }

  private Set<Right> held(Victim victim) {
    return register.held(victim.firstSeat(), SEATS);
  }

  /** Waits until nothing dead can be in the way of anything any more. */
  private void awaitTurns(long sinceNanos, String when) {
    Map<Right, Long> before = new EnumMap<>(Right.class);
    rights.forEach(right -> before.put(right, register.turns(right)));
    // Behind a dead holder a dead waiter may have its turn.
    Duration bound = register.crashBound().plus(fixture.timing().ttl()).plus(A_LITTLE);
    await(
        "turns with everything within " + bound + " " + when + "; so far " + before,
        bound.minusNanos(System.nanoTime() - sinceNanos),
        POLL,
        () -> hadTurns(before, EnumSet.of(Right.READ, Right.WRITE))
            && hadTurns(before, EnumSet.range(Right.PERMIT_0, Right.PERMIT_2)));
  }

  /** Whether all who can have been in this lock's line had a turn, and with each right somebody. */
  private boolean hadTurns(Map<Right, Long> before, Set<Right> ofOneLock) {
    long sum = 0;
    for (Right right : ofOneLock) {
      if (rights.contains(right)) {
        long turns = register.turns(right) - Objects.requireNonNull(before.get(right));
        if (turns < TURNS_OF_EACH_MIN) {
          return false;
        }
        sum += turns;
      }
    }
    return sum == 0 || sum >= TURNS_MIN;
  }

  private Victim start() {
    int firstSeat = seats;
    seats += SEATS;
    ChildProcess process = ChildProcess.start(fixture.childProcess());
    started.add(process);
    Timing timing = fixture.timing();
    expect(
        process.ask(
            START_MAX, "client", timing.storeTimeout().toMillis(), timing.ttl().toMillis()),
        "ok");
    int readers = rights.contains(Right.READ) ? THREADS : 0;
    int permits = rights.contains(Right.PERMIT_0) ? PERMIT_THREADS : 0;
    expect(
        process.ask(START_MAX, "contend", folder, firstSeat, name, THREADS, readers, permits),
        "contending");
    await(
        "the threads of a new process",
        START_MAX,
        POLL,
        () -> !register.held(firstSeat, SEATS).isEmpty());
    return new Victim(process, firstSeat);
  }

  private static void expect(List<String> reply, String word) {
    if (!reply.get(0).equals(word)) {
      throw new AssertionError("A child process said " + reply + ", not " + word);
    }
  }

  private static Victim get(Future<Victim> next) throws InterruptedException {
    try {
      return next.get();
    } catch (ExecutionException e) {
      throw new AssertionError("No process could take the place of the one killed", e.getCause());
    }
  }

  /** Returns what failed for callers, one line for each. */
  private List<String> failures() throws IOException {
    Path failures = Contention.failures(folder);
    return Files.exists(failures) ? Files.readAllLines(failures) : List.of();
  }

  private void checkFaults() throws IOException {
    Path faults = Contention.faults(folder);
    if (Files.exists(faults)) {
      throw new AssertionError(Files.readString(faults));
    }
  }

  private void await(String what, Duration within, Duration poll, BooleanSupplier condition) {
    long end = System.nanoTime() + within.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("In vain: " + what + "; now "
            + rights.stream().map(right -> right + " " + register.turns(right)).toList());
      }
      LockSupport.parkNanos(poll.toNanos());
    }
  }

  /** Kills all processes. */
  @Override
  public void close() {
    starter.shutdownNow();
    started.forEach(ChildProcess::close);
  }
}
