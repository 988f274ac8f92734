package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lines that this client found to begin with what only time ends, until it has Consul measure that
 * time: whoever comes later may live too shortly as well to see it for long enough. That is apart
 * from the calls that found them, whose answers are certain without it. Thread-safe.
 */
public final class Countdowns {
  private static final Logger log = LoggerFactory.getLogger(Countdowns.class);

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;

  /** By their folders. */
  private final Map<String, Found> found = new ConcurrentHashMap<>();

  /** Held while countdowns are begun; closing the client waits for that. */
  private final ReentrantLock working = new ReentrantLock();

  /**
   * A line that is to be counted down.
   *
   * @param sureSeconds a TTL that this Consul has sessions of
   */
  private record Found(Line line, long sureSeconds) {}

  public Countdowns(ConsulHttp http, Keys keys, SessionRequests requests) {
    this.http = http;
    this.keys = keys;
    this.requests = requests;
  }

  /**
   * Has it counted down, if it begins with a key without a session, and that is not under way.
   *
   * @param sureSeconds a TTL that this Consul has sessions of
   */
  public void add(Line line, long sureSeconds) {
    if (!line.isEmpty() && !line.first().hasSession() && !line.isCountedDown(line.first())) {
      found.put(Keys.lineOf(line.first().entry().key()), new Found(line, sureSeconds));
    }
  }

  public boolean isSomethingDue() {
    return !found.isEmpty();
  }

  /**
   * Begins all, and waits for those that are being begun. What fails is left to the next finder.
   */
  public void begin(Deadline deadline) {
    boolean mine = deadline.awaitUninterruptibly(
        leftNanos -> working.tryLock(leftNanos, TimeUnit.NANOSECONDS));
    if (!mine) {
      return;
    }
    try {
      for (String folder : List.copyOf(found.keySet())) {
        Found one = found.remove(folder);
        if (one != null) {
          beginOrLog(folder, one, deadline);
        }
      }
    } finally {
      working.unlock();
    }
  }

  private void beginOrLog(String folder, Found one, Deadline deadline) {
    try {
      begin(folder, one, deadline);
    } catch (StoreException | RuntimeException e) {
      log.debug("Not counted down: {}", one.line().first(), e);
    }
  }

  private void begin(String folder, Found found, Deadline deadline) throws StoreException {
    Line line = found.line();
    long ttlSeconds = ttlSeconds(line.first());
    String one;
    try {
      one = requests.createTimer(ttlSeconds, "", deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened() || ttlSeconds >= found.sureSeconds()) {
        throw e;
      }
      // The server's session_ttl_min can be higher than a minimum hold.
      ttlSeconds = found.sureSeconds();
      one = requests.createTimer(ttlSeconds, "", deadline);
    }
    // The address may be that of many agents.
    String other = requests.createTimer(ttlSeconds, requests.node(one, deadline), deadline);
    String text = Countdown.text(ttlSeconds, line.newestTimed());
    Transaction begin = new Transaction();
    line.countdownParts().forEach(part -> begin.deleteAt(part.key(), part.modifyIndex()));
    begin
        .checkNotExists(keys.countdown(folder, 1))
        .checkNotExists(keys.countdown(folder, 2))
        .lock(keys.countdown(folder, 1), text, one)
        .lock(keys.countdown(folder, 2), text, other);
    // If somebody else was faster, that one's goes on. Nor are these sessions destroyed then: the
    // answer can be that to a second copy of a request that got through.
    ConsulHttp.Outcome outcome = http.transact(begin, deadline);
    log.debug("Counting down {}: {}", line.first(), outcome);
  }

  /** As short as Consul takes it, since Consul ends a session after up to twice that. */
  private static long ttlSeconds(Line.Place timed) {
    long seconds = (timed.millis() + 999) / 1_000;
    return Math.min(
        SessionRequests.TTL_SECONDS_MAX, Math.max(SessionRequests.TTL_SECONDS_MIN, seconds));
  }
}
