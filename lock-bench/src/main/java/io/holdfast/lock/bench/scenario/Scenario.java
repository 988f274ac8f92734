package io.holdfast.lock.bench.scenario;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A situation in which candidates are compared. */
public enum Scenario {
  UNCONTENDED_1(
      Kind.CYCLES,
      1,
      1,
      1,
      "Free lock, 1 thread",
      "One thread takes and gives back one lock that nobody else wants."),
  UNCONTENDED_8(
      Kind.CYCLES,
      1,
      8,
      8,
      "Free locks, 8 threads",
      "Eight threads of one client, each with a lock of its own."),
  ONE_CLIENT(
      Kind.CYCLES,
      1,
      8,
      1,
      "One lock, 8 threads of one client",
      "Eight threads of one client fight for one lock."),
  FOUR_JVMS(
      Kind.CYCLES,
      4,
      2,
      1,
      "One lock, 4 JVMs x 2 threads",
      "Four JVMs with two threads each fight for one lock."),
  HAND_OFF(
      Kind.HAND_OFF,
      2,
      1,
      1,
      "Hand-off between 2 JVMs",
      "From just before one JVM's unlock until the other, which waits, has the lock; held for 1 to"
          + " 100 ms, at random."),
  WAITERS_1(2, 1, "1 waiter", "One JVM's thread waits for a lock that another JVM holds."),
  WAITERS_50(
      3, 25, "50 waiters", "Two JVMs with 25 threads each wait for a lock that a third holds."),
  WAITERS_1000(
      3,
      500,
      "1,000 waiters",
      "Two JVMs with 500 threads each wait for a lock that a third holds."),
  LEASES(
      Kind.LEASES,
      1,
      1,
      10_000,
      "10,000 held leases",
      "One client holds and renews 10,000 locks, and does nothing else."),
  NAMES_10(10),
  NAMES_1000(1_000),
  NAMES_100000(100_000);

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

  /** Series of scenarios that differ in one number, and show how the cost grows with it. */
  public enum Series {
    WAITERS(Kind.WAITERS, "Waiters for one lock"),
    NAMES(Kind.WALK, "Free locks, 8 threads, more and more names");

    private final Kind kind;
    private final String title;

    Series(Kind kind, String title) {
      this.kind = kind;
      this.title = title;
    }

    public String id() {
      return name().toLowerCase(Locale.ROOT);
    }

    public String title() {
      return title;
    }

    /** Returns its scenarios, the smallest first. */
    public List<Scenario> scenarios() {
      return Arrays.stream(Scenario.values()).filter(one -> one.kind == kind).toList();
    }
  }

  private final Kind kind;
  private final int jvms;
  private final int threads;
  private final int names;
  private final String title;
  private final String description;

  Scenario(Kind kind, int jvms, int threads, int names, String title, String description) {
    this.kind = kind;
    this.jvms = jvms;
    this.threads = threads;
    this.names = names;
    this.title = title;
    this.description = description;
  }

  /** Makes a scenario in which threads wait in all JVMs but the first. */
  Scenario(int jvms, int threads, String title, String description) {
    this(Kind.WAITERS, jvms, threads, 1, title, description);
  }

  /** Makes a scenario in which eight threads walk over this many names. */
  Scenario(int names) {
    this(
        Kind.WALK,
        1,
        8,
        names,
        String.format(Locale.ROOT, "%,d names", names),
        String.format(
            Locale.ROOT,
            "Eight threads of one client take and give back %,d free locks, one after the other; each"
                + " has been used before.",
            names));
  }

  public static final Set<Scenario> FREE =
      EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, NAMES_10, NAMES_1000, NAMES_100000);
  public static final Set<Scenario> ONE_JVM = EnumSet.of(ONE_CLIENT, FREE.toArray(Scenario[]::new));
  public static final Set<Scenario> SEVERAL_JVMS =
      EnumSet.of(FOUR_JVMS, HAND_OFF, WAITERS_1, WAITERS_50, WAITERS_1000);
  public static final Set<Scenario> ALL_BUT_LEASES = EnumSet.complementOf(EnumSet.of(LEASES));
  public static final Set<Scenario> ALL_BUT_1000_WAITERS =
      EnumSet.complementOf(EnumSet.of(WAITERS_1000));
  public static final Set<Scenario> ALL = EnumSet.allOf(Scenario.class);

  /** The scenarios that show the most important results within a few minutes. */
  public static final Set<Scenario> QUICK =
      EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, ONE_CLIENT, FOUR_JVMS, HAND_OFF);

  /** The scenarios that show what a network costs. */
  public static final Set<Scenario> NETWORK = EnumSet.of(UNCONTENDED_1, UNCONTENDED_8);

  /**
   * Returns the scenarios with an id.
   *
   * @param id the id of a scenario or of a series
   */
  public static Set<Scenario> byId(String id) {
    Set<Scenario> found = Arrays.stream(values())
        .filter(one ->
            one.id().equals(id) || one.series().map(Series::id).stream().anyMatch(id::equals))
        .collect(Collectors.toCollection(LinkedHashSet::new));
    if (found.isEmpty()) {
      throw new IllegalArgumentException("no such scenario: " + id + "; there are "
          + Stream.concat(
                  Arrays.stream(values()).map(Scenario::id),
                  Arrays.stream(Series.values()).map(Series::id))
              .collect(Collectors.joining(", ")));
    }
    return found;
  }

  /** Returns all scenarios in order, those of a series together. */
  public static List<List<Scenario>> groups() {
    return Arrays.stream(values())
        .map(one -> one.series().map(Series::scenarios).orElse(List.of(one)))
        .distinct()
        .toList();
  }

  /** Returns the title of a group for readers. */
  public static String title(List<Scenario> group) {
    return group.get(0).series().map(Series::title).orElse(group.get(0).title);
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

  /** Returns the number of locks; if it is one, all threads want the same. */
  public int names() {
    return names;
  }

  public Optional<Series> series() {
    return Arrays.stream(Series.values()).filter(one -> one.kind == kind).findFirst();
  }

  public String title() {
    return title;
  }

  public String description() {
    return description;
  }
}
