package io.holdfast.lock.zookeeper;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * When the latest write was sent that a majority has confirmed: the session that it was sent in was
 * alive then, and with it all its nodes.
 *
 * <p>Threads: any.
 */
final class Confirmation {
  private record Write(long session, long sentNanos) {}

  private final AtomicReference<@Nullable Write> latest = new AtomicReference<>();

  /** A write was answered; sessions are counted from its sending, since that came before. */
  void confirmed(long session, long sentNanos) {
    latest.updateAndGet(before ->
        before != null && before.session() == session && before.sentNanos() - sentNanos >= 0
            ? before
            : new Write(session, sentNanos));
  }

  /** How long ago it was; null: not in this session. */
  @Nullable
  Long ageNanos(long session, long nowNanos) {
    Write write = latest.get();
    return write == null || write.session() != session ? null : nowNanos - write.sentNanos();
  }
}
