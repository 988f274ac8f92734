package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The ends of sessions after which nobody can trust a lease of theirs any more. Thread-safe.
 *
 * <p>The end of a session alone tells nothing: its node may just have left the cluster, and its
 * client may live. So a session that was renewed once gets a <em>witness</em>, a second session of
 * the same node. Each is renewed when the other is, and a lease counts from before both. A node
 * that leaves ends both at one Raft index. So if they have ended at different indexes, the witness
 * has reached its TTL, and so have all leases. (Their client ends a witness only when the session's
 * keys are gone.)
 */
final class WitnessedEnds {
  /** The least time between two looks. A look reads the own keys of all sessions. */
  private static final long PAUSE_NANOS_MIN = TimeUnit.SECONDS.toNanos(5);

  private final ConsulHttp http;
  private final Keys keys;
  private final TimeSource time;

  private final ReentrantLock looking = new ReentrantLock();

  /** The indexes of these ends, as of the last look. */
  private volatile Set<Long> indexes = Set.of();

  /** The time of the last look; null: there was none. Guarded by the lock. */
  private @Nullable Long lookedNanos;

  WitnessedEnds(ConsulHttp http, Keys keys, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.time = time;
  }

  /** Whether the last look showed that the session of this orphan ended so. */
  boolean contains(Line.Place orphan) {
    return indexes.contains(orphan.entry().modifyIndex());
  }

  /**
   * Looks at all sessions that have ended, unless that was just done, for the sake of an orphan.
   */
  void look(Line.Place orphan, Deadline deadline) throws StoreException {
    long pauseNanos = Math.max(PAUSE_NANOS_MIN, orphan.nanos() / 3);
    boolean mayLook = deadline.awaitUninterruptibly(
        leftNanos -> looking.tryLock(leftNanos, TimeUnit.NANOSECONDS));
    if (!mayLook) {
      throw StoreException.refused("Consul did not tell in time which sessions have ended", null);
    }
    try {
      long nowNanos = time.nanos();
      if (lookedNanos == null || nowNanos - lookedNanos >= pauseNanos) {
        indexes = of(http.read(new Transaction().tree(keys.sessions()), deadline));
        lookedNanos = nowNanos;
      }
    } finally {
      looking.unlock();
    }
  }

  /** Returns the indexes of the witnessed ends among these own keys of sessions. */
  private static Set<Long> of(List<Entry> ownKeys) {
    Map<String, Entry> ended = ownKeys.stream()
        .filter(entry -> entry.session().isEmpty())
        .collect(Collectors.toMap(Entry::key, Function.identity()));
    Set<Long> witnessed = new HashSet<>();
    Set<Long> unwitnessed = new HashSet<>();
    ended.forEach((key, entry) -> {
      // The end of a session is the last that happened to its keys.
      Entry witness = ended.get(key + Keys.WITNESS);
      boolean apart = witness != null && witness.modifyIndex() != entry.modifyIndex();
      if (Keys.sessionOf(key).equals(key)) {
        (apart ? witnessed : unwitnessed).add(entry.modifyIndex());
      }
    });
    // Of several that ended at one index, each must be.
    witnessed.removeAll(unwitnessed);
    return witnessed;
  }
}
