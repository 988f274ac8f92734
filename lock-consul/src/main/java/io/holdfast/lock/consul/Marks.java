package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The marks of minimum holds that this client has seen, and since when. Whose process ended can't
 * remove its own. Thread-safe.
 */
final class Marks {
  /** For how long after its end a mark is remembered that somebody else removed. */
  private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final ConsulHttp http;
  private final TimeSource time;
  private final Map<Entry, Long> seenNanos = new ConcurrentHashMap<>();

  Marks(ConsulHttp http, TimeSource time) {
    this.http = http;
    this.time = time;
  }

  /**
   * Removes the mark of a minimum hold if this client has seen it for as long as it was to last.
   *
   * @return for how long it is to be left alone yet; zero: it is gone
   */
  long clear(Entry entry, Mark mark, Deadline deadline) throws StoreException {
    forgetOld();
    long leftNanos = leftNanos(entry, mark, time.nanos());
    if (leftNanos > 0) {
      return leftNanos;
    }
    ConsulHttp.Outcome unused =
        http.transact(new Transaction().deleteAt(entry.key(), entry.modifyIndex()), deadline);
    seenNanos.remove(entry);
    return 0;
  }

  /** The holder of a lock, as its first key tells it. */
  StoredHolder holder(Entry entry, long number, String description) {
    Mark mark = Mark.parse(entry.value());
    return new StoredHolder(
        number,
        description,
        mark.since(),
        mark.released()
            ? Duration.ofNanos(Math.max(0, leftNanos(entry, mark, time.nanos())))
            : Duration.ofMillis(mark.millis()).multipliedBy(2),
        mark.released());
  }

  /** Forgets what was removed long ago. Apart, since a list of locks has many marks. */
  void forgetOld() {
    long nowNanos = time.nanos();
    seenNanos.keySet().removeIf(seen -> {
      long forgetNanos =
          TimeUnit.MILLISECONDS.toNanos(Mark.parse(seen.value()).millis()) + KEPT_NANOS;
      return nowNanos - seenNanos.getOrDefault(seen, nowNanos) > forgetNanos;
    });
  }

  /** For how long a mark is to be left alone yet, by what this client has seen. */
  private long leftNanos(Entry entry, Mark mark, long nowNanos) {
    long sinceNanos = seenNanos.computeIfAbsent(entry, unused -> nowNanos);
    return TimeUnit.MILLISECONDS.toNanos(mark.millis()) - (nowNanos - sinceNanos);
  }
}
