package io.holdfast.lock.bench.scenario;

/** The kinds of lock that scenarios are about. */
public enum Locks {
  MUTEXES("mutexes", Task.Action.CYCLES),
  SEMAPHORES("semaphores", Task.Action.PERMITS),
  READ_WRITE_LOCKS("read-write locks", Task.Action.READS_AND_WRITES);

  private final String title;
  private final Task.Action action;

  Locks(String title, Task.Action action) {
    this.title = title;
    this.action = action;
  }

  /** Returns its name for readers. */
  public String title() {
    return title;
  }

  /** Returns the action in which all that a client does with such locks happens. */
  public Task.Action action() {
    return action;
  }
}
