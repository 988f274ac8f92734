package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;

/** Helpers for tests of the store without the engine. */
final class Stores {
  static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

  private Stores() {}

  /** The events that a store told unasked. */
  static final class Events implements StoreEvents {
    final Queue<Grant> suspended = new ConcurrentLinkedQueue<>();
    final Queue<Grant> lost = new ConcurrentLinkedQueue<>();

    @Override
    public void suspended(Grant grant) {
      suspended.add(grant);
    }

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {
      lost.add(grant);
    }
  }

  static ZooKeeperStore open(CuratorFramework framework, StoreEvents events) throws StoreException {
    return open(framework, "test", TimeSource.system(), events);
  }

  static ZooKeeperStore open(
      CuratorFramework framework, String clientName, TimeSource time, StoreEvents events)
      throws StoreException {
    return ZooKeeperStore.open(
        framework,
        ZooKeeperLocks.DEFAULT_PATH,
        null,
        new StoreSettings(clientName, STORE_TIMEOUT, time, events));
  }

  static ZooKeeperStore open(CuratorFramework framework, String path) throws StoreException {
    return ZooKeeperStore.open(
        framework,
        path,
        null,
        new StoreSettings("test", STORE_TIMEOUT, TimeSource.system(), new Events()));
  }

  /** Clocks that can be put forward. */
  static class JumpingTime implements TimeSource {
    private volatile long aheadNanos;
    private volatile long wallAheadMillis;

    void jump(Duration ahead) {
      aheadNanos = ahead.toNanos();
    }

    Duration jumped() {
      return Duration.ofNanos(aheadNanos);
    }

    /** As if the machine had been suspended: only the wall clock has gone on. */
    void jumpWall(Duration ahead) {
      wallAheadMillis = ahead.toMillis();
    }

    @Override
    public long nanos() {
      return TimeSource.system().nanos() + aheadNanos;
    }

    @Override
    public long wallMillis() {
      return TimeSource.system().wallMillis() + wallAheadMillis;
    }

    @Override
    public void park(Object blocker, long nanos) {
      TimeSource.system().park(blocker, nanos);
    }
  }

  static ZooKeeperStore open(CuratorFramework framework) throws StoreException {
    return open(framework, new Events());
  }

  static Claim claim(String name) {
    return claim(name, TTL, Duration.ZERO);
  }

  static Claim claim(String name, Duration ttl, Duration minHold) {
    return Claims.claim(Claims.key(name), ttl, minHold);
  }

  /** Makes the claim of a reader. */
  static Claim readClaim(String name) {
    Claim claim = claim(name);
    return new Claim(
        claim.key(), Claim.SHARED, claim.ownerId(), claim.ttl(), claim.minHold(), claim.holder());
  }

  static Grant take(LockStore store, Claim claim) throws StoreException {
    return store
        .tryAcquire(claim)
        .orElseThrow(() -> new AssertionError("taken: " + claim.key().name()));
  }

  static Acquisition.Queued queue(LockStore store, Claim claim, Runnable wakeUp)
      throws StoreException {
    return (Acquisition.Queued) store.acquireOrQueue(claim, wakeUp);
  }

  /**
   * Returns the check that a time which counts from the call is this one from when the request was
   * sent.
   */
  static Consumer<Duration> about(Duration fromRequest) {
    return fromCall -> assertThat(fromCall).isBetween(fromRequest, fromRequest.plusSeconds(5));
  }

  /** Returns the time for which a grant is renewed. */
  static Duration renew(LockStore store, Grant grant) throws StoreException {
    return ((Renewal.Renewed) store.renew(List.of(grant)).get(0)).validFor();
  }

  /** Waits until a grant is trusted for so long, as it is once the session is not new any more. */
  static void awaitKnown(LockStore store, Grant grant, Duration trusted) {
    Await.untilAnswered(
        "it is trusted for " + trusted, () -> renew(store, grant).compareTo(trusted) >= 0);
  }

  static String path(String name) {
    return ZooKeeperLocks.DEFAULT_PATH + "/" + Names.of(Claims.key(name));
  }
}
