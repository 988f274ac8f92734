package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.Entry;
import java.time.DateTimeException;
import java.time.Instant;

/**
 * The value of an attempt's key, for administrators and waiters.
 *
 * @param word what the key is for
 * @param millis the TTL of its session, for which the holder may trust its lease after the last
 *     renewal; if released, the time for which the name stays taken from when this was written
 * @param overIndex the Raft index up to which attempts that joined at this key are certainly over;
 *     zero: none is
 * @param sinceText when the lock was asked for, by the wall clock of its holder: Consul tells no
 *     times in its answers. Kept as text, since it is read for administrators alone
 * @param holder the description of its holder
 */
public record Mark(Word word, long millis, long overIndex, String sinceText, String holder) {
  /** The first word of the value. */
  public enum Word {
    /** An attempt to get the lock for itself, or to do what only a later version knows. */
    ATTEMPT("attempt"),
    /** An attempt to share the lock with other readers. */
    READER("reader"),
    /** None: the key's last attempt is over. The key keeps the name taken for some time at most. */
    RELEASED("released");

    private final String text;

    Word(String text) {
      this.text = text;
    }

    private static Word of(String text) {
      for (Word word : values()) {
        if (word.text.equals(text)) {
          return word;
        }
      }
      return ATTEMPT;
    }
  }

  public static Mark of(Entry entry) {
    return parse(entry.value());
  }

  /**
   * Returns the mark of this attempt when it is over.
   *
   * @param overIndex the index up to which attempts at the key are over
   * @param holdNanos the time for which the name stays taken; zero: it is free
   */
  public Mark asReleased(long overIndex, long holdNanos) {
    return new Mark(Word.RELEASED, (holdNanos + 999_999) / 1_000_000, overIndex, sinceText, holder);
  }

  /** Whether the key's last attempt is over. */
  public boolean released() {
    return word == Word.RELEASED;
  }

  /** Whether the key keeps nobody waiting: its client keeps it for its next attempt. */
  public boolean isIdle() {
    return released() && millis == 0;
  }

  /**
   * Reads a mark. A first word of a later version counts as an attempt, whose TTL is where it is
   * today. Any other text counts as an attempt with an unknown TTL and time.
   */
  public static Mark parse(String text) {
    String[] words = text.split(" ", 5);
    if (words.length == 5) {
      try {
        long millis = Long.parseLong(words[1]);
        long overIndex = Long.parseLong(words[2]);
        if (millis >= 0 && overIndex >= 0 && words[3].endsWith("Z")) {
          return new Mark(Word.of(words[0]), millis, overIndex, words[3], words[4]);
        }
      } catch (NumberFormatException e) {
        // Treated as any other text.
      }
    }
    return new Mark(Word.ATTEMPT, 0, 0, "", text);
  }

  /** Returns when the lock was asked for; a text that is no time counts as long ago. */
  public Instant since() {
    try {
      return Instant.parse(sinceText);
    } catch (DateTimeException e) {
      return Instant.EPOCH;
    }
  }

  public String text() {
    return "%s %s %s %s %s".formatted(word.text, millis, overIndex, sinceText, holder);
  }
}
