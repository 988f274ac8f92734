package io.holdfast.lock.shedlock;

import java.time.Duration;
import java.util.function.Function;

/**
 * The TTL for a {@code lockAtMostFor}: the same, or a longer one where the client refuses it as too
 * short.
 *
 * @param fallback a TTL that the client accepts
 */
record TaskTtl(Duration fallback) {
  /**
   * Calls a function that refuses, before any I/O, a TTL that its client or store does not accept.
   */
  <T> T use(Duration lockAtMostFor, Function<Duration, T> function) {
    try {
      return function.apply(lockAtMostFor);
    } catch (IllegalArgumentException refused) {
      if (lockAtMostFor.compareTo(fallback) >= 0) {
        throw refused;
      }
      return function.apply(fallback);
    }
  }
}
