package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The value of a key, for humans and for those who wait.
 *
 * @param released whether its last attempt is over: it keeps the name taken for that long at most
 * @param millis for how long its holder can believe in it after the session's last renewal; of a
 *     released one, how long it must stay from its writing
 * @param over all attempts at this key that joined at this index or before are over for certain;
 *     zero: none is
 * @param since when its holder asked for the lock, by the holder's wall clock: Consul tells no time
 *     in its answers
 * @param holder who
 * @param bid which permit it is about; null: it is about no semaphore
 */
public record Mark(
    boolean released,
    long millis,
    long over,
    Instant since,
    String holder,
    @Nullable Bid bid) {
  private static final String HELD = "attempt";
  private static final String RELEASED = "released";

  /** Between the first word and the bid. */
  private static final char BID = ':';

  /** Of a lock that has one holder at a time. */
  public Mark(boolean released, long millis, long over, Instant since, String holder) {
    this(released, millis, over, since, holder, null);
  }

  public static Mark of(Entry entry) {
    return parse(entry.value());
  }

  /**
   * One that says that all attempts up to this index are over; the name, or permit, is to stay
   * taken for that long.
   */
  public Mark over(long index, long holdNanos) {
    return new Mark(true, (holdNanos + 999_999) / 1_000_000, index, since, holder, bid);
  }

  /** The same, once the name is to stay taken for so long; zero: it is free again. */
  public Mark withHold(long holdNanos) {
    return over(over, holdNanos);
  }

  /** Whether the key keeps nobody waiting: it is there for its client's next attempt. */
  public boolean isIdle() {
    return released && millis == 0;
  }

  /**
   * Whether somebody can believe in it although its session has ended. Who waits for a permit can't
   * have one: a key that lost its session can't be written to for it any more.
   */
  boolean outlivesSession() {
    return millis > 0 && (bid == null || bid.isForPermit());
  }

  /** A foreign text is somebody's attempt of an unknown length at an unknown time. */
  public static Mark parse(String text) {
    String[] words = text.split(" ", 5);
    if (words.length == 5) {
      try {
        int bidAt = words[0].indexOf(BID);
        String word = bidAt < 0 ? words[0] : words[0].substring(0, bidAt);
        Bid bid = bidAt < 0 ? null : Bid.parse(words[0].substring(bidAt + 1));
        long millis = Long.parseLong(words[1]);
        long over = Long.parseLong(words[2]);
        Instant since = Instant.parse(words[3]);
        if ((word.equals(HELD) || word.equals(RELEASED))
            && (bid == null) == (bidAt < 0)
            && millis >= 0
            && over >= 0) {
          return new Mark(word.equals(RELEASED), millis, over, since, words[4], bid);
        }
      } catch (NumberFormatException | DateTimeException e) {
        return foreign(text);
      }
    }
    return foreign(text);
  }

  private static Mark foreign(String text) {
    return new Mark(false, 0, 0, Instant.EPOCH, text);
  }

  public String text() {
    return (released ? RELEASED : HELD)
        + (bid == null ? "" : BID + bid.text())
        + " "
        + millis
        + " "
        + over
        + " "
        + since
        + " "
        + holder;
  }
}
