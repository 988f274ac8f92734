package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * All keys of one lock at one moment, and those among them that count, in order: the first has the
 * lock. A key counts from when its session locked it for an attempt until that is marked as over.
 *
 * <p>A key whose session has ended before is an <em>orphan</em>. Its attempt may have the lock, and
 * its holder believe so, since nobody may have heard of that end. At which index it was locked is
 * not known any more, so it is placed where it can have been at the earliest.
 */
public final class Line {
  /**
   * A key that counts.
   *
   * @param number the Raft index at which the attempt joined; of an orphan whose key served before,
   *     that at which its session ended, which is above
   * @param from the lowest that the index at which it joined can be
   */
  public record Place(Entry entry, Mark mark, long number, long from) {
    boolean isOrphan() {
      return !hasSession() && !mark.released();
    }

    public boolean hasSession() {
      return !entry.session().isEmpty();
    }

    /** Whether time ends it, if nobody else does: an orphan, or the mark of a minimum hold. */
    public boolean isTimed() {
      return !hasSession() || mark.released();
    }

    /** The time for which it is to be left alone by a client that sees it. */
    public long millis() {
      // A mark that somebody else wrote can tell less than any session has.
      return mark.released()
          ? mark.millis()
          : Math.max(mark.millis(), TimeUnit.SECONDS.toMillis(SessionRequests.TTL_SECONDS_MIN));
    }

    /** Adds what ends it for everybody who knows it, if nothing wrote to it since. */
    void end(Transaction transaction) {
      // An orphan was locked before its session ended.
      long over = isOrphan() ? entry.modifyIndex() : number;
      transaction.setAt(
          entry.key(),
          entry.modifyIndex(),
          new Mark(true, 0, over, mark.since(), mark.holder()).text(),
          mark.released() ? HAD_LOCK : 0);
    }

    static Place of(Entry entry, Mark mark) {
      long number = mark.released() ? mark.over() : entry.modifyIndex();
      long from = number;
      if (Line.isOrphan(entry)) {
        boolean isFirstOfKey = mark.over() == 0;
        number = isFirstOfKey ? entry.createIndex() : number;
        from = Math.max(entry.createIndex(), mark.over() + 1);
      }
      return new Place(entry, mark, number, from);
    }
  }

  /** The flags of a key whose last attempt had the lock before it was marked as over. */
  public static final long HAD_LOCK = 1;

  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final List<Place> places;
  private final List<Entry> useless = new ArrayList<>();
  private final List<Entry> countdownParts = new ArrayList<>();
  private final @Nullable Countdown countdown;

  /** @param shown what a transaction shows of them; of a key that it wrote to, the last counts */
  public Line(List<Entry> shown) {
    shown.forEach(entry -> entries.put(entry.key(), entry));
    this.places = new ArrayList<>(entries.size());
    for (Entry entry : entries.values()) {
      Mark mark = Mark.of(entry);
      if (Countdown.isPart(entry)) {
        countdownParts.add(entry);
      } else if (!mark.isIdle()) {
        // A foreign text is none of ours: it has no TTL.
        if (!entry.session().isEmpty() || mark.millis() > 0) {
          places.add(Place.of(entry, mark));
        }
      } else if (entry.session().isEmpty()) {
        useless.add(entry);
      }
    }
    places.sort(Comparator.comparingLong(Place::from));
    countdown = Countdown.of(countdownParts);
    if (countdown == null || timed().stream().noneMatch(countdown::covers)) {
      useless.addAll(countdownParts);
    }
  }

  /** Whether it says that it is an attempt's: by that alone, since a write resets its LockIndex. */
  private static boolean isOrphan(Entry entry) {
    Mark mark = Mark.of(entry);
    return entry.session().isEmpty() && !mark.released() && mark.millis() > 0;
  }

  public boolean isEmpty() {
    return places.isEmpty();
  }

  /** Whether a session that lives has the lock: then nobody can have it but by that one's doing. */
  public boolean isHeld() {
    return !isEmpty() && !first().isTimed();
  }

  public int size() {
    return places.size();
  }

  public Place first() {
    return places.get(0);
  }

  public List<Place> orphans() {
    return places.stream().filter(Place::isOrphan).toList();
  }

  /** The places that only time may end. */
  List<Place> timed() {
    return places.stream().filter(Place::isTimed).toList();
  }

  /** The last index at which one of them became what it is; zero: there is none. */
  long newestTimed() {
    return timed().stream()
        .mapToLong(place -> place.entry().modifyIndex())
        .max()
        .orElse(0);
  }

  /** The keys of a countdown, whatever it is good for. */
  List<Entry> countdownParts() {
    return countdownParts;
  }

  /** Whether Consul measures, or has measured, the time that ends it. */
  boolean isCountedDown(Place timed) {
    return countdown != null && !countdown.isVoid() && countdown.covers(timed);
  }

  /** Whether Consul has measured that its time is over. */
  boolean hasRunOut(Place timed) {
    return countdown != null && countdown.isOver() && countdown.covers(timed);
  }

  /** Keys that nobody comes back for: their attempts are over, and their sessions ended. */
  public List<Entry> useless() {
    return useless;
  }

  /**
   * The place that shows that number, if it may have the lock; null: none does. Which number an
   * orphan had is not guessed: it may be that of another's lease, which was over long ago.
   */
  @Nullable
  public Place holder(long number) {
    for (Place place : mayHaveIt()) {
      if (place.number() == number) {
        return place;
      }
    }
    return null;
  }

  /** Whether nobody can tell whose number that is: an orphan's, or that of a lease before it. */
  public boolean isDoubtful(long number) {
    return mayHaveIt().stream()
        .anyMatch(place -> place.from() <= number && number < place.number());
  }

  /** The orphans that it begins with, and who comes after them: each of them may have the lock. */
  private List<Place> mayHaveIt() {
    int orphans = 0;
    while (orphans < places.size() && places.get(orphans).isOrphan()) {
      orphans++;
    }
    return places.subList(0, Math.min(orphans + 1, places.size()));
  }

  /** Returns the places, in order. */
  public List<Place> places() {
    return places;
  }

  /** The places before that one, in order. */
  public List<Place> ahead(Place place) {
    return List.copyOf(places.subList(0, places.indexOf(place)));
  }

  public boolean contains(Place place) {
    return place.entry().equals(entries.get(place.entry().key()));
  }

  /** Whether all that became of this place is that its session ended. */
  public boolean showsAsOrphan(Place place) {
    Entry now = entries.get(place.entry().key());
    return now != null && isOrphan(now);
  }

  /** Whether it can be seen that this place was given up, by the request that did so. */
  public boolean shows(Place over) {
    return isOver(over, entries.get(over.entry().key()));
  }

  /** Whether it can be seen that this place had the lock, and was given up. */
  public boolean showsLockOf(Place over) {
    return hadLock(over, entries.get(over.entry().key()));
  }

  /**
   * Whether a key as it is now proves that an attempt at it was given up. A key that is missing, or
   * that somebody else wrote to, proves nothing: its holder may still believe in its lease.
   */
  public static boolean isOver(Place place, @Nullable Entry now) {
    return now != null
        && now.key().equals(place.entry().key())
        && Mark.of(now).over() >= place.number();
  }

  /**
   * Whether a key as it is now proves that an attempt at it had the lock, and gave it up. Then so
   * is over whoever was before it.
   */
  public static boolean hadLock(Place place, @Nullable Entry now) {
    return now != null && isOver(place, now) && now.flags() == HAD_LOCK;
  }
}
