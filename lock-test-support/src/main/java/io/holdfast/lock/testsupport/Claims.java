package io.holdfast.lock.testsupport;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.UUID;

/** Keys, claims and settings for tests that ask a store without the engine. */
public final class Claims {
  /** The TTL of a claim that says nothing else. */
  public static final Duration TTL = Duration.ofSeconds(30);

  public static final StoreEvents NO_EVENTS = new StoreEvents() {
    @Override
    public void suspended(Grant grant) {}

    @Override
    public void lost(Grant grant, LeaseLoss.Reason reason) {}
  };

  private Claims() {}

  public static LockKey key(String name) {
    return new LockKey(LockKind.MUTEX, name);
  }

  /** Returns a name that no other test has. */
  public static String freshName() {
    return "test-" + UUID.randomUUID();
  }

  /** Returns a key that no other test has. */
  public static LockKey freshKey() {
    return key(freshName());
  }

  public static String freshOwnerId() {
    return UUID.randomUUID().toString().replace("-", "");
  }

  public static Claim claim(LockKey key) {
    return claim(key, TTL);
  }

  public static Claim claim(LockKey key, Duration ttl) {
    return claim(key, ttl, Duration.ZERO);
  }

  public static Claim claim(LockKey key, Duration ttl, Duration minHold) {
    return new Claim(key, Claim.EXCLUSIVE, freshOwnerId(), ttl, minHold, "test of the store");
  }

  public static StoreSettings settings(Duration storeTimeout) {
    return new StoreSettings("test", storeTimeout, TimeSource.system(), NO_EVENTS);
  }
}
