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
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The ends of sessions after which nobody can trust a lease of theirs any more. Thread-safe.
 *
 * <p>The end of a session alone tells nothing: its node may just have left the cluster, and its
 * client may live. So a session that is used for a while gets a <em>witness</em>, a second session
 * of the same node. Each is renewed when the other is, and a lease counts from before both. A node
 * that leaves ends both at one Raft index. So if they have ended at different indexes, the witness
 * has reached its TTL, and the leases before it.
 */
final class WitnessedEnds {
  /** A client with many waiters looks no more often. */
  private static final long LOOK_NANOS_MIN = TimeUnit.SECONDS.toNanos(5);

  private final ConsulHttp http;
  private final Keys keys;
  private final TimeSource time;

  /** The indexes of these ends, as of the last look. */
  private volatile Set<Long> indexes = Set.of();

  private volatile @Nullable Long lookedNanos;

  WitnessedEnds(ConsulHttp http, Keys keys, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.time = time;
  }

  /** Whether the last look showed that the session of this orphan ended so. */
  boolean contains(Line.Place orphan) {
    return indexes.contains(orphan.entry().modifyIndex());
  }

  /** Looks at all sessions that have ended, unless it has just been done. */
  void look(Deadline deadline) throws StoreException {
    Long last = lookedNanos;
    long nowNanos = time.nanos();
    if (last == null || nowNanos - last >= LOOK_NANOS_MIN) {
      lookedNanos = nowNanos;
      indexes = of(http.read(new Transaction().tree(keys.sessions()), deadline));
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
      if (!key.endsWith(Keys.GATE) && !key.endsWith(Keys.WITNESS)) {
        (apart ? witnessed : unwitnessed).add(entry.modifyIndex());
      }
    });
    // Of several that ended at one index, each must be.
    witnessed.removeAll(unwitnessed);
    return witnessed;
  }
}
