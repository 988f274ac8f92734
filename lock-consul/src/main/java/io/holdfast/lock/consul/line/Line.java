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
 * The line of one lock at one moment: the keys of attempts that are not over, and of minimum holds,
 * in the order in which they were locked. The first has the lock, and if it is a reader's, so have
 * all up to the first that is not.
 *
 * <p>An <em>orphan</em> is a key whose session ended before the attempt was marked as over. Its
 * attempt may have the lock, and its holder may not have heard of the session's end. The index at
 * which it was locked is no longer known, so it stands at the earliest place that it can have had.
 *
 * <p>A <em>timed</em> place is one that only time ends: an orphan, or the key of a minimum hold.
 */
public final class Line {
  /**
   * A place in the line.
   *
   * @param number the Raft index at which its attempt joined; of an orphan whose key had been used
   *     before, the higher index at which its session ended
   * @param from the lowest index at which its attempt can have joined
   */
  public record Place(Entry entry, Mark mark, long number, long from) {
    boolean isOrphan() {
      return !hasSession() && !mark.released();
    }

    public boolean hasSession() {
      return !entry.session().isEmpty();
    }

    private boolean isShared() {
      return mark.word() == Mark.Word.READER;
    }

    /**
     * Whether an attempt behind it must wait for its end.
     *
     * @param shared whether that attempt is a reader's
     */
    private boolean blocks(boolean shared) {
      return !shared || !isShared();
    }

    public boolean isTimed() {
      return !hasSession() || mark.released();
    }

    /** Returns the time for which a client must have seen it before it may end it. */
    public long nanos() {
      // A value that somebody else wrote can tell less than the TTL of any session, or centuries.
      long least = mark.released() ? 0 : TimeUnit.SECONDS.toNanos(SessionRequests.TTL_SECONDS_MIN);
      long nanos = TimeUnit.MILLISECONDS.toNanos(mark.millis());
      return Math.max(least, Math.min(nanos, Long.MAX_VALUE / 4));
    }

    /** Adds the operation that marks it as over, unless somebody wrote to it since. */
    public void addEndTo(Transaction transaction) {
      // The index at which an orphan joined is not known, but is below that of its session's end.
      long overIndex = isOrphan() ? entry.modifyIndex() : number;
      transaction.setAt(
          entry.key(),
          entry.modifyIndex(),
          mark.asReleased(overIndex, 0).text(),
          mark.released() ? HAD_LOCK : 0);
    }

    static Place of(Entry entry, Mark mark) {
      long number = mark.released() ? mark.overIndex() : entry.modifyIndex();
      long from = number;
      if (Line.isOrphan(entry)) {
        boolean isFirstOfKey = mark.overIndex() == 0;
        number = isFirstOfKey ? entry.createIndex() : number;
        from = Math.max(entry.createIndex(), mark.overIndex() + 1);
      }
      return new Place(entry, mark, number, from);
    }
  }

  /**
   * The flags of a key whose last attempt had the lock, for itself, before it was marked as over. A
   * reader's never has them: others before it may still have the lock.
   */
  public static final long HAD_LOCK = 1;

  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final List<Place> places;
  private final List<Entry> useless = new ArrayList<>();
  private final List<Entry> countdownParts = new ArrayList<>();
  private final @Nullable Countdown countdown;

  /**
   * @param shown all keys of the lock, as a transaction shows them: of a key that the transaction
   *     also wrote to, the last entry is valid
   */
  public Line(List<Entry> shown) {
    shown.forEach(entry -> entries.put(entry.key(), entry));
    this.places = new ArrayList<>(entries.size());
    for (Entry entry : entries.values()) {
      Mark mark = Mark.of(entry);
      if (Countdown.isPart(entry)) {
        countdownParts.add(entry);
      } else if (!mark.isIdle()) {
        // Without a session, a key is a place only if its value is a mark that tells a time.
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

  /**
   * Whether a key without a session is an orphan. Only its value tells: Consul's LockIndex, which
   * counts how often the key was locked, is reset by a write.
   */
  public static boolean isOrphan(Entry entry) {
    Mark mark = Mark.of(entry);
    return entry.session().isEmpty() && !mark.released() && mark.millis() > 0;
  }

  public boolean isEmpty() {
    return places.isEmpty();
  }

  /** Whether an attempt that joins now has to wait. */
  public boolean isTaken(boolean shared) {
    return places.stream().anyMatch(place -> place.blocks(shared));
  }

  /** Whether a living session keeps it waiting, so that time alone does not let it in. */
  public boolean isHeld(boolean shared) {
    return front().stream().anyMatch(place -> place.blocks(shared) && !place.isTimed());
  }

  public Place first() {
    return places.get(0);
  }

  /** Returns the places that have the lock: the first, or all readers up to the first other one. */
  public List<Place> inside() {
    List<Place> readers = places.stream().takeWhile(Place::isShared).toList();
    return readers.isEmpty() ? places.stream().limit(1).toList() : readers;
  }

  /** Returns the readers that have the lock. */
  public List<Place> readers() {
    return inside().stream().filter(Place::isShared).toList();
  }

  /**
   * Returns the first places, up to the first that is no reader's. An attempt that waits, waits for
   * one of them at least.
   */
  List<Place> front() {
    int readers = (int) places.stream().takeWhile(Place::isShared).count();
    return places.subList(0, Math.min(readers + 1, places.size()));
  }

  /** Returns those at the front that only time ends, and for which this attempt has to wait. */
  List<Place> timedAtFront(boolean shared) {
    return front().stream()
        .filter(place -> place.isTimed() && place.blocks(shared))
        .toList();
  }

  /**
   * Returns those at the front that have no session, if no countdown measures the time of any: it
   * is not broken off for the sake of others.
   */
  List<Place> uncounted() {
    List<Place> ended = front().stream().filter(place -> !place.hasSession()).toList();
    return ended.stream().anyMatch(this::isCountedDown) ? List.of() : ended;
  }

  public List<Place> orphans() {
    return places.stream().filter(Place::isOrphan).toList();
  }

  List<Place> timed() {
    return places.stream().filter(Place::isTimed).toList();
  }

  /** Returns the highest index of the keys of timed places; zero: there are none. */
  long newestTimed() {
    return timed().stream()
        .mapToLong(place -> place.entry().modifyIndex())
        .max()
        .orElse(0);
  }

  /** Returns the keys of a countdown, even if they are of no use. */
  List<Entry> countdownParts() {
    return countdownParts;
  }

  /** Whether a countdown measures, or has measured, the time of this place. */
  boolean isCountedDown(Place timed) {
    return countdown != null && !countdown.isVoid() && countdown.covers(timed);
  }

  /** Whether a countdown has measured that the time of this place is over. */
  boolean hasRunOut(Place timed) {
    return countdown != null && countdown.isOver() && countdown.covers(timed);
  }

  /**
   * Returns the keys of no use: those without a session whose attempts are over, and those of a
   * countdown that covers no place.
   */
  public List<Entry> useless() {
    return useless;
  }

  /**
   * Returns the place with that number, if it may have the lock; null: there is none. An orphan is
   * found only by the number that it shows: a lower one may be that of an earlier lease.
   */
  @Nullable
  public Place holder(long number) {
    return possibleHolders().stream()
        .filter(place -> place.number() == number)
        .findFirst()
        .orElse(null);
  }

  /**
   * Whether that number may be that of an orphan or of an earlier lease at its key: nobody can
   * tell.
   */
  public boolean isAmbiguous(long number) {
    return possibleHolders().stream()
        .anyMatch(place -> place.from() <= number && number < place.number());
  }

  /**
   * Returns the places that may have the lock: those that have it once the orphans before them are
   * not counted.
   */
  private List<Place> possibleHolders() {
    List<Place> possible = new ArrayList<>();
    List<Place> certain = new ArrayList<>();
    for (Place place : places) {
      if (certain.stream().noneMatch(before -> before.blocks(place.isShared()))) {
        possible.add(place);
      }
      if (!place.isOrphan()) {
        certain.add(place);
      }
    }
    return possible;
  }

  /** Returns the places, in order. */
  public List<Place> places() {
    return places;
  }

  /**
   * Returns the places before this one that have to go first, in order: of a reader's, those that
   * are no readers'.
   */
  public List<Place> ahead(Place place) {
    return places.subList(0, places.indexOf(place)).stream()
        .filter(before -> before.blocks(place.isShared()))
        .toList();
  }

  /** Returns the key of a place as this line shows it; null: it does not exist. */
  public @Nullable Entry entryOf(Place place) {
    return entries.get(place.entry().key());
  }

  /**
   * Whether the present state of its key proves that a place was given up. A key that is missing,
   * or that somebody else wrote to, proves nothing: its holder may still trust its lease.
   */
  public static boolean isOver(Place place, @Nullable Entry now) {
    return now != null
        && now.key().equals(place.entry().key())
        && Mark.of(now).overIndex() >= place.number();
  }

  /**
   * Whether the present state of its key proves that a place had the lock for itself and was given
   * up. Then all places before it are over, too.
   */
  public static boolean hadLock(Place place, @Nullable Entry now) {
    return now != null && isOver(place, now) && now.flags() == HAD_LOCK;
  }
}
