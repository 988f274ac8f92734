package io.holdfast.lock.bench;

/**
 * What the parent asks a worker to do.
 *
 * @param prefix begins the names of the locks
 * @param names how many locks there are for all threads of all workers together: a thread has those
 *     whose number, modulo the threads, is its own; if the locks are fewer, one that it shares
 * @param threads of this worker
 * @param first the number of this worker's first thread among those of all workers
 * @param allThreads of all workers
 * @param holdMillisMax how long a lock that is handed off is held: from 1 to this, at random
 */
record Task(
    Action action,
    String prefix,
    int names,
    int threads,
    int first,
    int allThreads,
    long millis,
    int holdMillisMax) {
  private static final int ANSWER_SECONDS_MAX = 60;

  /** Slower than any store that is worth a measurement. */
  private static final int CYCLES_A_SECOND_MIN = 50;

  /** Of a peer that keeps one for each thread. */
  private static final int CONNECTIONS_A_SECOND_MIN = 5;

  private static final int DRAIN_SECONDS_MAX = 200;

  enum Action {
    /** Take and give back each lock once. */
    TOUCH,
    /** Take and give back until the time is over. */
    CYCLES,
    /** Take turns with the other worker until the time is over. */
    HAND_OFF,
    /** Take the locks and keep them. */
    TAKE,
    /** Let threads wait for a lock that is taken, and answer when they have begun. */
    WAIT,
    /** Do nothing for that time, and say what it cost. */
    WATCH,
    /** Collect garbage, so that the heap shows what is kept. */
    COLLECT,
    /** Give back what was taken. */
    GIVE,
    /** Answer when all threads that waited have had their turn. */
    DRAIN
  }

  static Task of(Action action, String prefix) {
    return new Task(action, prefix, 1, 1, 0, 1, 0, 1);
  }

  Task withMillis(long other) {
    return new Task(action, prefix, names, threads, first, allThreads, other, holdMillisMax);
  }

  Task withNames(int other) {
    return new Task(action, prefix, other, threads, first, allThreads, millis, holdMillisMax);
  }

  Task withHoldMillisMax(int other) {
    return new Task(action, prefix, names, threads, first, allThreads, millis, other);
  }

  /** The same task for one of several workers with so many threads each. */
  Task ofWorker(int number, int threadsEach, int workers) {
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

  /** How many locks one of the threads has. */
  int share(int number) {
    return Math.max(1, (names - (first + number) + allThreads - 1) / allThreads);
  }

  /** The number of one of those locks, by its place among them. */
  int name(int number, int place) {
    return (first + number + allThreads * place) % names;
  }

  /** How long an answer may take. */
  int secondsMax() {
    int work = switch (action) {
      case TOUCH, TAKE, GIVE -> names / CYCLES_A_SECOND_MIN;
      case WAIT -> threads / CONNECTIONS_A_SECOND_MIN;
      case DRAIN -> DRAIN_SECONDS_MAX;
      default -> Math.toIntExact(millis / 1_000);
    };
    return ANSWER_SECONDS_MAX + work;
  }
}
