package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A timer at Consul for the timed places of a {@link Line}. A client that can't stay until their
 * time is over begins it, for those that come later. It is two keys, each locked by a session of
 * its own that nobody renews or destroys.
 *
 * <p>Consul ends a session no earlier than its TTL after its creation, unless the session's node
 * leaves the cluster. Both sessions belong to one node, and a node that leaves ends all of its
 * sessions at one Raft index. So if only one of the two has ended, or the two ended at different
 * indexes, their TTL is over; and so is the time of every place that was seen before they were
 * created.
 *
 * @param one the first key
 * @param other the second, created in the same transaction
 * @param millis the TTL of the sessions
 * @param seenIndex the highest index of the timed places that were seen before the sessions were
 *     created
 */
public record Countdown(Entry one, Entry other, long millis, long seenIndex) {
  /** The beginning of the names of both keys. The names of attempts' keys have no dot. */
  public static final String KEY = ".countdown-";

  private static final String WORD = "countdown";

  /** Whether a key is one of the two keys of a countdown. */
  static boolean isPart(Entry entry) {
    return entry.key().startsWith(KEY, entry.key().lastIndexOf('/') + 1);
  }

  static String text(long ttlSeconds, long seenIndex) {
    return WORD + " " + ttlSeconds * 1_000 + " " + seenIndex;
  }

  /** Returns the countdown that these keys are; null: no single transaction created them as one. */
  static @Nullable Countdown of(List<Entry> parts) {
    if (parts.size() != 2) {
      return null;
    }
    Entry one = parts.get(0);
    Entry other = parts.get(1);
    String[] words = one.value().split(" ", -1);
    if (words.length != 3
        || !words[0].equals(WORD)
        || !one.value().equals(other.value())
        || one.createIndex() != other.createIndex()
        || (hasSession(one) && one.session().equals(other.session()))) {
      return null;
    }
    try {
      return new Countdown(one, other, Long.parseLong(words[1]), Long.parseLong(words[2]));
    } catch (NumberFormatException e) {
      // Somebody else wrote there.
      return null;
    }
  }

  /** Whether the time of this place is over once the countdown is. */
  boolean covers(Line.Place timed) {
    return timed.entry().modifyIndex() <= seenIndex
        && timed.nanos() <= TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** Whether its time is over for certain. */
  boolean isOver() {
    return !(hasSession(one) && hasSession(other)) && !isVoid();
  }

  /** Whether the node of the sessions left the cluster, so that the countdown proves nothing. */
  boolean isVoid() {
    return !hasSession(one) && !hasSession(other) && one.modifyIndex() == other.modifyIndex();
  }

  private static boolean hasSession(Entry part) {
    return !part.session().isEmpty();
  }
}
