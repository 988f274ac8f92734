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
   * Calls the function with {@code lockAtMostFor}, or with the fallback if that is refused as too
   * short. The function must refuse a TTL before any I/O.
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
