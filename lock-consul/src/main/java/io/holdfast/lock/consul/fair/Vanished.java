package io.holdfast.lock.consul.fair;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.holdfast.lock.consul.line.Bid;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.PermitLine;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The permits that the first waiter of a semaphore must leave alone for a while, since a key that
 * asked for one of them has vanished without having said that its attempt was over: a hand deleted
 * it, or a snapshot was restored, and its holder may go on until its session's TTL is over. Who
 * waits further behind does not see the ends of those before it, so it begins to count when it is
 * the first. Thread-safe.
 */
final class Vanished {
  @GuardedBy("this")
  private final Map<String, Line.Place> seen = new HashMap<>();

  @GuardedBy("this")
  private final Map<Integer, Long> untilNanos = new HashMap<>();

  /**
   * Takes a reading in.
   *
   * @param index the reading tells of the state at this index or later; readings come in any order
   */
  synchronized void see(PermitLine reading, long index, long nowNanos) {
    Line line = reading.line();
    for (Iterator<Line.Place> places = seen.values().iterator(); places.hasNext(); ) {
      Line.Place place = places.next();
      if (place.entry().modifyIndex() <= index) {
        if (mayGoOn(place, line)) {
          doubt(place, nowNanos);
        }
        places.remove();
      }
    }
    for (Line.Place place : reading.asking()) {
      if (!place.mark().released()) {
        seen.merge(
            place.entry().key(),
            place,
            (one, other) -> one.entry().modifyIndex() > other.entry().modifyIndex() ? one : other);
      }
    }
  }

  private static boolean mayGoOn(Line.Place place, Line line) {
    // An orphan is waited for where it stands.
    return !line.contains(place) && !line.shows(place) && !line.showsAsOrphan(place);
  }

  @GuardedBy("this")
  private void doubt(Line.Place place, long nowNanos) {
    Bid bid = place.mark().bid();
    if (bid != null) {
      long placeUntilNanos = nowNanos + TimeUnit.MILLISECONDS.toNanos(place.millis());
      untilNanos.merge(
          bid.permit(), placeUntilNanos, (one, other) -> one - other > 0 ? one : other);
    }
  }

  /** Whether a permit is to be left alone. */
  synchronized boolean covers(int permit, long nowNanos) {
    Long until = untilNanos.get(permit);
    return until != null && until - nowNanos > 0;
  }

  /** Returns the time until the first of them may be had again; the largest long: there is none. */
  synchronized long leftNanos(long nowNanos) {
    return untilNanos.values().stream()
        .mapToLong(until -> until - nowNanos)
        .filter(left -> left > 0)
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
