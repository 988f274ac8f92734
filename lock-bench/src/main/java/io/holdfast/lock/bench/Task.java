package io.holdfast.lock.bench;

/**
 * What the parent asks a worker to do.
 *
 * @param prefix begins the names of the locks
 * @param oneName whether all threads want the same lock
 * @param count how many locks, for TAKE
 * @param first the number of this worker's first thread among those of all workers
 */
record Task(
    Action action, String prefix, int threads, boolean oneName, int count, int first, long millis) {
  enum Action {
    /** Take and give back until the time is over. */
    CYCLES,
    /** Take turns with the other worker until the time is over. */
    HAND_OFF,
    /** Take that many locks and keep them. */
    TAKE,
    /** Let threads wait for a lock that is taken, and answer when they have begun. */
    WAIT,
    /** Do nothing for that time, and say what it cost. */
    WATCH,
    /** Give back what was taken. */
    GIVE,
    /** Answer when all threads that waited have had their turn. */
    DRAIN
  }

  static Task of(Action action, String prefix) {
    return new Task(action, prefix, 1, true, 1, 0, 0);
  }

  Task withMillis(long other) {
    return new Task(action, prefix, threads, oneName, count, first, other);
  }

  Task withThreads(int other, int otherFirst) {
    return new Task(action, prefix, other, oneName, count, otherFirst, millis);
  }

  Task withCount(int other) {
    return new Task(action, prefix, threads, oneName, other, first, millis);
  }

  Task withOneName(boolean other) {
    return new Task(action, prefix, threads, other, count, first, millis);
  }
}
