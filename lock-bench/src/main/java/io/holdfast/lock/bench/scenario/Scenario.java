package io.holdfast.lock.bench.scenario;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** A situation in which candidates are compared. */
public enum Scenario {
  /** One thread takes and gives back one lock that nobody else wants. */
  UNCONTENDED_1(Kind.CYCLES, 1, 1, 1, "Free lock, 1 thread"),
  /** Eight threads of one client, each with a lock of its own. */
  UNCONTENDED_8(Kind.CYCLES, 1, 8, 8, "Free locks, 8 threads"),
  ONE_CLIENT(Kind.CYCLES, 1, 8, 1, "One lock, 8 threads of one client"),
  FOUR_JVMS(Kind.CYCLES, 4, 2, 1, "One lock, 4 JVMs x 2 threads"),
  /**
   * The time from just before one JVM's unlock until the other, which waits, has the lock; held for
   * 1 to 100 ms, at random.
   */
  HAND_OFF(Kind.HAND_OFF, 2, 1, 1, "Hand-off between 2 JVMs"),
  /** One JVM's thread waits for a lock that another JVM holds. */
  WAITERS_1(Kind.WAITERS, 2, 1, 1, "1 waiter"),
  /** Two JVMs with 25 threads each wait for a lock that a third holds. */
  WAITERS_50(Kind.WAITERS, 3, 25, 1, "50 waiters"),
  WAITERS_1000(Kind.WAITERS, 3, 500, 1, "1,000 waiters"),
  /** One client holds and renews 10,000 locks, and does nothing else. */
  LEASES(Kind.LEASES, 1, 1, 10_000, "10,000 held leases"),
  /**
   * Eight threads of one client take and give back free locks, one after the other; each has been
   * used before.
   */
  NAMES_10(Kind.WALK, 1, 8, 10, "Free locks, 8 threads, 10 names"),
  NAMES_1000(Kind.WALK, 1, 8, 1_000, "Free locks, 8 threads, 1,000 names"),
  NAMES_100000(Kind.WALK, 1, 8, 100_000, "Free locks, 8 threads, 100,000 names"),
  /** Here and in the next, all read. */
  READS_1(Kind.CYCLES, 1, 1, 1, "One lock to read, 1 thread"),
  READS_8(Kind.CYCLES, 1, 8, 1, "One lock to read, 8 threads of one client"),
  /** Nine times of ten a thread reads, otherwise it writes. */
  READS_FOUR_JVMS(Kind.CYCLES, 4, 2, 1, "One lock, 4 JVMs x 2 threads, 9 of 10 read"),
  PERMITS_1(Kind.CYCLES, 1, 1, 1, "3 permits, 1 thread"),
  PERMITS_FOUR_JVMS(Kind.CYCLES, 4, 4, 1, "3 permits, 4 JVMs x 4 threads");

  /** The number of permits of each semaphore. */
  public static final int PERMITS = 3;

  /** The kinds of scenario: what happens in a round, and which figure counts. */
  public enum Kind {
    /** Acquire and release, at once again: cycles per second. */
    CYCLES,
    /**
     * Acquire and release one lock after the other, of many: cycles per second, and what the names
     * leave behind in the client.
     */
    WALK,
    /**
     * Wait for the other holder's release: the median time from a release until the next holder
     * goes on.
     */
    HAND_OFF,
    /** Wait for a lock that stays taken: the cost of waiting, in commands per second. */
    WAITERS,
    /** Hold locks: the cost of that, in commands per second. */
    LEASES;

    /** Whether the client does nothing, and only the cost of that is measured. */
    public boolean isWatched() {
      return this == WAITERS || this == LEASES;
    }
  }

  private final Kind kind;
  private final int jvms;
  private final int threads;
  private final int names;
  private final String title;

  Scenario(Kind kind, int jvms, int threads, int names, String title) {
    this.kind = kind;
    this.jvms = jvms;
    this.threads = threads;
    this.names = names;
    this.title = title;
  }

  public static final Set<Scenario> FREE =
      EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, NAMES_10, NAMES_1000, NAMES_100000);
  public static final Set<Scenario> ONE_JVM = EnumSet.of(ONE_CLIENT, FREE.toArray(Scenario[]::new));
  public static final Set<Scenario> SEVERAL_JVMS =
      EnumSet.of(FOUR_JVMS, HAND_OFF, WAITERS_1, WAITERS_50, WAITERS_1000);
  public static final Set<Scenario> READING = EnumSet.of(READS_1, READS_8);
  public static final Set<Scenario> MOSTLY_READING = EnumSet.of(READS_FOUR_JVMS);
  public static final Set<Scenario> OF_PERMITS = EnumSet.of(PERMITS_1, PERMITS_FOUR_JVMS);

  /** Those with locks that one thread has at a time. */
  public static final Set<Scenario> ALL = EnumSet.range(UNCONTENDED_1, NAMES_100000);

  public static final Set<Scenario> ALL_BUT_LEASES = allBut(LEASES);
  public static final Set<Scenario> ALL_BUT_1000_WAITERS = allBut(WAITERS_1000);

  /** The scenarios that show the most important results within a few minutes. */
  public static final Set<Scenario> QUICK = EnumSet.of(
      UNCONTENDED_1,
      UNCONTENDED_8,
      ONE_CLIENT,
      FOUR_JVMS,
      HAND_OFF,
      READS_FOUR_JVMS,
      PERMITS_FOUR_JVMS);

  /** The scenarios that show what a network costs. */
  public static final Set<Scenario> NETWORK = EnumSet.of(UNCONTENDED_1, UNCONTENDED_8);

  private static Set<Scenario> allBut(Scenario one) {
    Set<Scenario> others = EnumSet.copyOf(ALL);
    others.remove(one);
    return others;
  }

  /**
   * Returns the scenarios with an id.
   *
   * @param id the id of a scenario, or the first words of several
   */
  public static Set<Scenario> byId(String id) {
    Set<Scenario> found = Arrays.stream(values())
        .filter(one -> (one.id() + "-").startsWith(id + "-"))
        .collect(Collectors.toCollection(LinkedHashSet::new));
    if (found.isEmpty()) {
      throw new IllegalArgumentException("no such scenario: " + id + "; there are "
          + Arrays.stream(values()).map(Scenario::id).collect(Collectors.joining(", ")));
    }
    return found;
  }

  /** Returns its name on command lines and in files. */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  public Kind kind() {
    return kind;
  }

  public int jvms() {
    return jvms;
  }

  /**
   * Returns the number of threads of each JVM; if the others wait for the first JVM, that one has
   * one thread.
   */
  public int threads() {
    return threads;
  }

  /** Whether one thread takes and gives back a lock that nobody else wants. */
  public boolean isOneThreads() {
    return kind == Kind.CYCLES && jvms * threads == 1;
  }

  /** Whether threads do nothing but take and give back a lock that others want, too. */
  public boolean isContended() {
    return kind == Kind.CYCLES && jvms * threads > names;
  }

  /** Returns the number of locks; if it is one, all threads want the same. */
  public int names() {
    return names;
  }

  public String title() {
    return title;
  }
}
