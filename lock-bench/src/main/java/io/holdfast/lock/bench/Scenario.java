package io.holdfast.lock.bench;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/** A situation in which candidates are compared. */
enum Scenario {
  UNCONTENDED_1(
      "uncontended-1",
      Kind.CYCLES,
      1,
      1,
      false,
      "Free lock, 1 thread",
      "One thread takes and gives back one lock that nobody else wants."),
  UNCONTENDED_8(
      "uncontended-8",
      Kind.CYCLES,
      1,
      8,
      false,
      "Free locks, 8 threads",
      "Eight threads of one client, each with a lock of its own."),
  ONE_CLIENT(
      "one-client",
      Kind.CYCLES,
      1,
      8,
      true,
      "One lock, 8 threads of one client",
      "Eight threads of one client fight for one lock."),
  FOUR_JVMS(
      "four-jvms",
      Kind.CYCLES,
      4,
      2,
      true,
      "One lock, 4 JVMs x 2 threads",
      "Four JVMs with two threads each fight for one lock."),
  HAND_OFF(
      "hand-off",
      Kind.HAND_OFF,
      2,
      1,
      true,
      "Hand-off between 2 JVMs",
      "From just before one JVM's unlock until the other, which waits, has the lock; held for 1 to"
          + " 100 ms, at random."),
  WAITERS(
      "waiters",
      Kind.WAITERS,
      3,
      25,
      true,
      "50 waiters",
      "Two JVMs with 25 threads each wait for a lock that a third holds."),
  LEASES(
      "leases",
      Kind.LEASES,
      1,
      1,
      false,
      "10,000 held leases",
      "One client holds and renews 10,000 locks, and does nothing else.");

  /** What happens in a round, and which figure counts. */
  enum Kind {
    /** Take, give back, at once again: cycles per second. */
    CYCLES,
    /** How long after a release the next holder goes on: median latency. */
    HAND_OFF,
    /** What waiting costs: commands per second. */
    WAITERS,
    /** What holding costs: commands per second. */
    LEASES
  }

  private final String id;
  private final Kind kind;
  private final int jvms;
  private final int threads;
  private final boolean oneName;
  private final String title;
  private final String description;

  Scenario(
      String id,
      Kind kind,
      int jvms,
      int threads,
      boolean oneName,
      String title,
      String description) {
    this.id = id;
    this.kind = kind;
    this.jvms = jvms;
    this.threads = threads;
    this.oneName = oneName;
    this.title = title;
    this.description = description;
  }

  static final Set<Scenario> FREE = EnumSet.of(UNCONTENDED_1, UNCONTENDED_8);
  static final Set<Scenario> ONE_JVM = EnumSet.of(UNCONTENDED_1, UNCONTENDED_8, ONE_CLIENT);
  static final Set<Scenario> SEVERAL_JVMS = EnumSet.of(FOUR_JVMS, HAND_OFF);
  static final Set<Scenario> ALL_BUT_LEASES = EnumSet.complementOf(EnumSet.of(LEASES));
  static final Set<Scenario> ALL = EnumSet.allOf(Scenario.class);

  static Scenario byId(String id) {
    return Arrays.stream(values())
        .filter(one -> one.id.equals(id))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such scenario: " + id + "; there are "
            + Arrays.stream(values()).map(Scenario::id).collect(Collectors.joining(", "))));
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

  /** Of each JVM. */
  int threads() {
    return threads;
  }

  /** Whether all threads want the same lock. */
  boolean oneName() {
    return oneName;
  }

  String title() {
    return title;
  }

  String description() {
    return description;
  }
}
