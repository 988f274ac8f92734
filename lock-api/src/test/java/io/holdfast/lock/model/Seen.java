package io.holdfast.lock.model;

import java.util.Arrays;
import java.util.stream.Collectors;

/** A thing that can happen in an episode; counted, so that none of them is forgotten. */
enum Seen {
  REQUEST_LOST,
  ANSWER_LOST,
  CARRIED_OUT_TWICE,
  CARRIED_OUT_LATE,
  REFUSED,
  ANSWERED_LATE,
  UNANSWERED,
  HANDED_OVER_BY_THE_STORE,
  HANDED_ON_LOCALLY,
  LEASE,
  READ,
  READ_OF_A_SHARED_GRANT,
  READ_WITHIN_A_WRITE,
  BUSY,
  LOST,
  FAILED,
  INTERRUPTED,
  CLIENT_CLOSED,
  FORCED,
  EXTENDED,
  FROZEN,
  SUSPENDED,
  DIED,
  WALL_CLOCK_SET,
  SERVER_AWAY,
  SERVER_STOOD_STILL,
  STALLED;

  @SuppressWarnings("ImmutableEnumChecker") // Counting is what it is for.
  private long count;

  void count() {
    count++;
  }

  static String counts() {
    return Arrays.stream(values())
        .map(seen -> seen + " " + seen.count)
        .collect(Collectors.joining(", "));
  }

  static String below(long least) {
    return Arrays.stream(values())
        .filter(seen -> seen.count < least)
        .map(Seen::toString)
        .collect(Collectors.joining(", "));
  }

  static void reset() {
    for (Seen seen : values()) {
      seen.count = 0;
    }
  }
}
