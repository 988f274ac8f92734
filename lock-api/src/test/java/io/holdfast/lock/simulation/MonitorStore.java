package io.holdfast.lock.simulation;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A store of one map and its monitor, which is given up however a call ends: by a stack that
 * overflows in the middle, too.
 */
public final class MonitorStore implements LockStore {
  private static final Duration RECHECK = Duration.ofMillis(20);

  private final TimeSource time;
  private final Map<LockKey, Row> rows = new HashMap<>();
  private long lastNumber;
  private int renewals;

  private record Row(MonitorGrant owner, long untilNanos) {}

  private record MonitorGrant(Claim claim, long number) implements Grant {
    @Override
    public Duration validFor() {
      return claim.ttl();
    }

    @Override
    public Duration crashBound(Duration ttl) {
      return ttl;
    }
  }

  public MonitorStore(TimeSource time) {
    this.time = time;
  }

  /** A builder of clients of this store, on its time. */
  public Builder client() {
    return new Builder(this).timeSource(time);
  }

  /** Builds clients. */
  public static final class Builder extends LockClientBuilder<Builder> {
    private final MonitorStore store;

    private Builder(MonitorStore store) {
      this.store = store;
    }

    @Override
    protected LockStore openStore(StoreSettings settings) {
      return store;
    }
  }

  /** The number of locks that are held. */
  public synchronized long held() {
    return rows.values().stream().filter(this::lasts).count();
  }

  /** The number of times that the store was asked to renew. */
  public synchronized int renewals() {
    return renewals;
  }

  private boolean lasts(Row row) {
    return row.untilNanos() - time.nanos() > 0;
  }

  private @Nullable Row row(LockKey key) {
    Row row = rows.get(key);
    return row != null && lasts(row) ? row : null;
  }

  private @Nullable Row row(Grant grant) {
    Row row = row(grant.claim().key());
    return row != null && row.owner().equals(grant) ? row : null;
  }

  private void put(MonitorGrant grant, Duration ttl) {
    rows.put(grant.claim().key(), new Row(grant, time.nanos() + ttl.toNanos()));
  }

  @Override
  public void checkOptions(LockOptions options) {
    // All that the engine allows.
  }

  @Override
  public synchronized Optional<Grant> tryAcquire(Claim claim) {
    if (row(claim.key()) != null) {
      return Optional.empty();
    }
    lastNumber++;
    MonitorGrant grant = new MonitorGrant(claim, lastNumber);
    put(grant, claim.ttl());
    return Optional.of(grant);
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) {
    Optional<Grant> grant = tryAcquire(claim);
    return grant.isPresent()
        ? new Acquisition.Granted(grant.get())
        : new Acquisition.Queued(new PollingTicket(claim), RECHECK);
  }

  private final class PollingTicket implements Ticket {
    private final Claim claim;

    PollingTicket(Claim claim) {
      this.claim = claim;
    }

    @Override
    public Status poll() {
      Optional<Grant> grant = tryAcquire(claim);
      return grant.isPresent() ? new Granted(grant.get()) : new Waiting(RECHECK);
    }

    @Override
    public Optional<String> holder() {
      return Optional.empty();
    }

    @Override
    public void close() {
      withdraw(claim);
    }
  }

  @Override
  public synchronized ReleaseOutcome release(Grant grant, Duration holdFor) {
    if (row(grant) == null) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    rows.remove(grant.claim().key());
    return ReleaseOutcome.RELEASED;
  }

  @Override
  public synchronized void withdraw(Claim claim) {
    Row row = row(claim.key());
    if (row != null && row.owner().claim().equals(claim)) {
      rows.remove(claim.key());
    }
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public synchronized List<Renewal> renew(List<Grant> grants) {
    renewals++;
    List<Renewal> renewals = new ArrayList<>();
    for (Grant grant : grants) {
      Duration ttl = grant.claim().ttl();
      renewals.add(extend(grant, ttl).isPresent() ? new Renewal.Renewed(ttl) : new Renewal.Lost());
    }
    return renewals;
  }

  @Override
  public synchronized Optional<Duration> extend(Grant grant, Duration ttl) {
    Row row = row(grant);
    if (row == null) {
      return Optional.empty();
    }
    put(row.owner(), ttl);
    return Optional.of(ttl);
  }

  @Override
  public synchronized Optional<Duration> verify(Grant grant) {
    return Optional.ofNullable(row(grant)).map(this::left);
  }

  @Override
  public synchronized Optional<StoredHolder> inspect(LockKey key) {
    return Optional.ofNullable(row(key))
        .map(row -> new StoredHolder(
            row.owner().number(), row.owner().claim().holder(), Instant.EPOCH, left(row), false));
  }

  private Duration left(Row row) {
    return Duration.ofNanos(row.untilNanos() - time.nanos());
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) {
    return List.of();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) {
    return false;
  }

  @Override
  public void close() {
    // There is nothing to free.
  }
}
