package io.holdfast.lock.bench.scenario;

/**
 * A task that the parent gives to a worker.
 *
 * @param prefix the prefix of the locks' names
 * @param names the number of locks for all threads of all workers together: a thread uses those
 *     whose number, modulo the number of threads, is its own; if there are fewer locks than
 *     threads, it shares one
 * @param threads the number of this worker's threads
 * @param first the number of this worker's first thread among those of all workers
 * @param allThreads the number of threads of all workers
 * @param holdMillisMax the longest time for which a lock that is handed off or stayed in is held,
 *     in milliseconds: from 1 to this, at random
 */
public record Task(
    Action action,
    String prefix,
    int names,
    int threads,
    int first,
    int allThreads,
    long millis,
    int holdMillisMax) {
  private static final int ANSWER_SECONDS_MAX = 60;

  /** Fewer cycles per second than any store that is worth measuring. */
  private static final int CYCLES_A_SECOND_MIN = 50;

  /**
   * The connections per second that a peer opens if it keeps one for each thread; a low estimate.
   */
  private static final int CONNECTIONS_A_SECOND_MIN = 5;

  private static final int DRAIN_SECONDS_MAX = 200;

  public enum Action {
    /** Acquire and release each lock once. */
    TOUCH,
    /** Acquire and release until the time is over. */
    CYCLES,
    /** The same, but stay inside for some milliseconds each time, so that too many would meet. */
    STAYS,
    /** Take turns with the other worker until the time is over. */
    HAND_OFF,
    /** Take the locks and keep them. */
    TAKE,
    /** Let threads wait for a lock that is taken, and answer when they have begun. */
    WAIT,
    /** Do nothing for that time, and report what that cost. */
    WATCH,
    /** Collect garbage, so that the heap shows what is kept. */
    COLLECT,
    /** Release the locks that were taken. */
    GIVE,
    /** Answer when all waiting threads have had their turn. */
    DRAIN
  }

  public static Task of(Action action, String prefix) {
    return new Task(action, prefix, 1, 1, 0, 1, 0, 1);
  }

  public Task withMillis(long other) {
    return new Task(action, prefix, names, threads, first, allThreads, other, holdMillisMax);
  }

  public Task withNames(int other) {
    return new Task(action, prefix, other, threads, first, allThreads, millis, holdMillisMax);
  }

  public Task withHoldMillisMax(int other) {
    return new Task(action, prefix, names, threads, first, allThreads, millis, other);
  }

  /** Returns this task for one of several workers with this many threads each. */
  public Task ofWorker(int number, int threadsEach, int workers) {
    return new Task(
        action,
        prefix,
        names,
        threadsEach,
        number * threadsEach,
        workers * threadsEach,
        millis,
        holdMillisMax);
  }

  /** Returns the number of locks of one of the threads. */
  public int share(int number) {
    return Math.max(1, (names - (first + number) + allThreads - 1) / allThreads);
  }

  /** Returns the number of one of those locks, by its place among them. */
  public int name(int number, int place) {
    return (first + number + allThreads * place) % names;
  }

  /** Returns the longest time that an answer may take, in seconds. */
  public int secondsMax() {
    int work = switch (action) {
      case TOUCH, TAKE, GIVE -> names / CYCLES_A_SECOND_MIN;
      case WAIT -> threads / CONNECTIONS_A_SECOND_MIN;
      case DRAIN -> DRAIN_SECONDS_MAX;
      default -> Math.toIntExact(millis / 1_000);
    };
    return ANSWER_SECONDS_MAX + work;
  }
}
