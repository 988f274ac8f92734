package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Time that Consul itself measures since somebody saw {@linkplain Line orphans}, or marks of
 * minimum holds, in a line, for those who come later: two keys, each locked by a session of its
 * own, which was made after that and which nobody ever renews or destroys.
 *
 * <p>Consul ends a session no earlier than its TTL after it was made, unless its agent's node
 * leaves the cluster. That ends all sessions of the node at the same index, and both are of one
 * node. So if one has ended without the other, or at another index, its TTL is over, and all that
 * were there before have been so for that long.
 *
 * @param one the first key
 * @param other the second, made in the same transaction
 * @param millis the TTL of the sessions
 * @param seenIndex what was as it is at this index had been seen before the sessions were made
 */
public record Countdown(Entry one, Entry other, long millis, long seenIndex) {
  /** No attempt's key has a dot. */
  public static final String KEY = ".countdown-";

  private static final String WORD = "countdown";

  /** Whether it is one of the two keys. */
  static boolean isPart(Entry entry) {
    return entry.key().startsWith(KEY, entry.key().lastIndexOf('/') + 1);
  }

  static String text(long ttlSeconds, long seenIndex) {
    return WORD + " " + ttlSeconds * 1_000 + " " + seenIndex;
  }

  /** The countdown that has these keys; null: they are not as one transaction makes them. */
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
      // A hand wrote there.
      return null;
    }
  }

  /** Whether it tells about that place, once it is over. */
  boolean covers(Line.Place timed) {
    return timed.entry().modifyIndex() <= seenIndex && timed.millis() <= millis;
  }

  /** Whether its time is over for certain. */
  boolean isOver() {
    return !(hasSession(one) && hasSession(other)) && !isVoid();
  }

  /** Whether the sessions' node left, so that nothing can be told any more. */
  boolean isVoid() {
    return !hasSession(one) && !hasSession(other) && one.modifyIndex() == other.modifyIndex();
  }

  private static boolean hasSession(Entry part) {
    return !part.session().isEmpty();
  }
}
