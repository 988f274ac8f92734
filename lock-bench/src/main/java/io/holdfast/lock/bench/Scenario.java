package io.holdfast.lock.bench;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A situation in which candidates are compared. */
enum Scenario {
  UNCONTENDED_1(
      "uncontended-1",
      Kind.CYCLES,
      1,
      1,
      1,
      null,
      "Free lock, 1 thread",
      "One thread takes and gives back one lock that nobody else wants."),
  UNCONTENDED_8(
      "uncontended-8",
      Kind.CYCLES,
      1,
      8,
      8,
      null,
      "Free locks, 8 threads",
      "Eight threads of one client, each with a lock of its own."),
  ONE_CLIENT(
      "one-client",
      Kind.CYCLES,
      1,
      8,
      1,
      null,
      "One lock, 8 threads of one client",
      "Eight threads of one client fight for one lock."),
  FOUR_JVMS(
      "four-jvms",
      Kind.CYCLES,
      4,
      2,
      1,
      null,
      "One lock, 4 JVMs x 2 threads",
      "Four JVMs with two threads each fight for one lock."),
  HAND_OFF(
      "hand-off",
      Kind.HAND_OFF,
      2,
      1,
      1,
      null,
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
      "leases",
      Kind.LEASES,
      1,
      1,
      10_000,
      null,
      "10,000 held leases",
      "One client holds and renews 10,000 locks, and does nothing else."),
  NAMES_10(10),
  NAMES_1000(1_000),
  NAMES_100000(100_000);

  /** What happens in a round, and which figure counts. */
  enum Kind {
    /** Take, give back, at once again: cycles per second. */
    CYCLES,
    /** The same with one lock after the other, of many: what they leave in the client, too. */
    WALK,
    /** How long after a release the next holder goes on: median latency. */
    HAND_OFF,
    /** What waiting costs: commands per second. */
    WAITERS,
    /** What holding costs: commands per second. */
    LEASES;

    /** Whether the client does nothing, and the question is what that costs. */
    boolean isWatched() {
      return this == WAITERS || this == LEASES;
    }
  }

  /** Scenarios that differ in one number: what does the cost do when it grows? */
  enum Series {
    WAITERS("Waiters for one lock"),
    NAMES("Free locks, 8 threads, more and more names");

    private final String title;

    Series(String title) {
      this.title = title;
    }

    String id() {
      return name().toLowerCase(Locale.ROOT);
    }

    String title() {
      return title;
    }

    /** The smallest first. */
    List<Scenario> scenarios() {
      return Arrays.stream(Scenario.values()).filter(one -> one.series == this).toList();
    }
  }

  private final String id;
  private final Kind kind;
  private final int jvms;
  private final int threads;
  private final int names;
  private final @Nullable Series series;
  private final String title;
  private final String description;

  Scenario(
      String id,
      Kind kind,
      int jvms,
      int threads,
      int names,
      @Nullable Series series,
      String title,
      String description) {
    this.id = id;
    this.kind = kind;
    this.jvms = jvms;
    this.threads = threads;
    this.names = names;
    this.series = series;
    this.title = title;
    this.description = description;
  }

  /** Threads wait in all JVMs but the first. */
  Scenario(int jvms, int threads, String title, String description) {
    this(
        "waiters-" + (jvms - 1) * threads,
        Kind.WAITERS,
        jvms,
        threads,
        1,
        Series.WAITERS,
        title,
        description);
  }

  /** Eight threads walk over so many names. */
  Scenario(int names) {
    this(
        "names-" + names,
        Kind.WALK,
        1,
        8,
        names,
        Series.NAMES,
        String.format(Locale.ROOT, "%,d names", names),
        String.format(
            Locale.ROOT,
            "Eight threads of one client take and give back %,d free locks, one after the other; each"
                + " has been used before.",
            names));
  }

  static final Set<Scenario> FREE =
      EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, NAMES_10, NAMES_1000, NAMES_100000);
  static final Set<Scenario> ONE_JVM = with(FREE, ONE_CLIENT);
  static final Set<Scenario> SEVERAL_JVMS =
      EnumSet.of(FOUR_JVMS, HAND_OFF, WAITERS_1, WAITERS_50, WAITERS_1000);
  static final Set<Scenario> ALL_BUT_LEASES = EnumSet.complementOf(EnumSet.of(LEASES));
  static final Set<Scenario> ALL_BUT_1000_WAITERS = EnumSet.complementOf(EnumSet.of(WAITERS_1000));
  static final Set<Scenario> ALL = EnumSet.allOf(Scenario.class);

  /** Those that show in a few minutes what one wants to know first. */
  static final Set<Scenario> QUICK =
      EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, ONE_CLIENT, FOUR_JVMS, HAND_OFF);

  private static Set<Scenario> with(Set<Scenario> some, Scenario other) {
    Set<Scenario> all = EnumSet.copyOf(some);
    all.add(other);
    return all;
  }

  /** @param id of a scenario or of a series */
  static Set<Scenario> byId(String id) {
    Set<Scenario> found = Arrays.stream(values())
        .filter(
            one -> one.id.equals(id) || (one.series != null && one.series.id().equals(id)))
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

  /** All of them in order, those of a series together. */
  static List<List<Scenario>> groups() {
    return Arrays.stream(values())
        .map(one -> one.series == null ? List.of(one) : one.series.scenarios())
        .distinct()
        .toList();
  }

  /** What readers call a group. */
  static String title(List<Scenario> group) {
    return group.get(0).series().map(Series::title).orElse(group.get(0).title);
  }

  String id() {
    return id;
  }

  Kind kind() {
    return kind;
  }

  int jvms() {
    return jvms;
  }

  /** Of each JVM; of the first, where the others wait for it, one. */
  int threads() {
    return threads;
  }

  /** How many locks there are; one: all threads want the same. */
  int names() {
    return names;
  }

  /** Whether all threads fight for one lock. */
  boolean isContended() {
    return kind == Kind.CYCLES && names == 1 && jvms * threads > 1;
  }

  Optional<Series> series() {
    return Optional.ofNullable(series);
  }

  String title() {
    return title;
  }

  String description() {
    return description;
  }
}
