package io.holdfast.lock.internal;

import io.holdfast.lock.spi.LockKey;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The lines of one client: one for each name in use, exactly, and none for a name that is not. */
final class Lines {
  private final ConcurrentHashMap<LockKey, Line> lines = new ConcurrentHashMap<>();

  /** The line of this key, kept until {@link #leave}. */
  Line use(LockKey key) {
    return lines.compute(key, (k, existing) -> {
      Line line = existing == null ? new Line(k) : existing;
      line.users++;
      return line;
    });
  }

  void leave(Line line) {
    lines.computeIfPresent(line.key(), (k, existing) -> --existing.users == 0 ? null : existing);
  }

  /** The line of this key if it is in use. */
  @Nullable
  Line find(LockKey key) {
    return lines.get(key);
  }

  Collection<Line> all() {
    return lines.values();
  }
}
