package io.holdfast.lock.consul;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All keys of one lock at one moment, and those among them that count, in order: the first has the
 * lock. A key counts from when its session locked it for an attempt until that is marked as over.
 */
final class Line {
  /**
   * A key that counts.
   *
   * @param number the Raft index at which the attempt joined
   */
  record Place(Entry entry, Mark mark, long number) {
    boolean isOf(Attempt attempt) {
      return entry.key().equals(attempt.key())
          && entry.session().equals(attempt.session().id())
          && !mark.released()
          && (attempt.number() == 0 ? number > attempt.indexBefore() : number == attempt.number());
    }
  }

  /** What a key's flags say if its last attempt had the lock before it was marked as over. */
  static final long HAD_LOCK = 1;

  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final List<Place> places;

  /** @param shown what a transaction shows of them; of a key that it wrote to, the last counts */
  Line(List<Entry> shown) {
    shown.forEach(entry -> entries.put(entry.key(), entry));
    this.places = new ArrayList<>(entries.size());
    for (Entry entry : entries.values()) {
      Mark mark = entry.mark();
      if (!entry.session().isEmpty() && !mark.isIdle()) {
        // Nobody but its own client writes to a key, and nothing while its attempt lasts.
        places.add(new Place(entry, mark, mark.released() ? mark.over() : entry.modifyIndex()));
      }
    }
    places.sort(Comparator.comparingLong(Place::number));
  }

  boolean isEmpty() {
    return places.isEmpty();
  }

  int size() {
    return places.size();
  }

  Place first() {
    return places.get(0);
  }

  /** The attempt's own place; null: it has none any more. */
  @Nullable
  Place own(Attempt attempt) {
    for (Place place : places) {
      if (place.isOf(attempt)) {
        return place;
      }
    }
    return null;
  }

  /** The places before that one, in order. */
  List<Place> ahead(Place place) {
    return List.copyOf(places.subList(0, places.indexOf(place)));
  }

  boolean contains(Place place) {
    return place.entry().equals(entries.get(place.entry().key()));
  }

  /** Whether it can be seen that this place was given up, by the request that did so. */
  boolean shows(Place over) {
    return isOver(over, entries.get(over.entry().key()));
  }

  /** Whether it can be seen that this place had the lock, and was given up. */
  boolean showsLockOf(Place over) {
    return hadLock(over, entries.get(over.entry().key()));
  }

  /**
   * Whether a key as it is now proves that an attempt at it was given up. A key that is missing, or
   * that somebody else wrote to, proves nothing: its holder may still believe in its lease.
   */
  static boolean isOver(Place place, @Nullable Entry now) {
    return now != null
        && now.key().equals(place.entry().key())
        && now.mark().over() >= place.number();
  }

  /**
   * Whether a key as it is now proves that an attempt at it had the lock, and gave it up. Then so
   * is over whoever was before it.
   */
  static boolean hadLock(Place place, @Nullable Entry now) {
    return now != null && isOver(place, now) && now.flags() == HAD_LOCK;
  }
}
