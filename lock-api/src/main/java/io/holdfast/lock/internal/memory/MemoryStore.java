package io.holdfast.lock.internal.memory;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The store of one client on a {@link MemoryTable}. */
public final class MemoryStore implements PermitStore {
  /** The time added to the time left before a poll, so that the poll falls after the expiry. */
  private static final Duration RECHECK_SLACK = Duration.ofMillis(1);

  private final MemoryTable table;
  private final TimeSource time;

  /** Makes a store on this table, with this clock. */
  public MemoryStore(MemoryTable table, TimeSource time) {
    this.table = table;
    this.time = time;
  }

  @Override
  public void checkOptions(LockOptions options) {
    // Everything that the engine allows is supported.
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return Optional.ofNullable(table.acquire(claim, null, time.nanos(), time.wallMillis()));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Waiter waiter = new Waiter(claim, wakeUp);
    MemoryGrant grant = table.acquire(claim, waiter, time.nanos(), time.wallMillis());
    return grant == null
        ? new Acquisition.Queued(waiter, waiter.recheckAfter())
        : new Acquisition.Granted(grant);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) {
    return table.release((MemoryGrant) grant, holdFor, time.nanos());
  }

  @Override
  public void withdraw(Claim claim) {
    table.withdraw(claim, time.nanos());
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return table;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) {
    List<Renewal> results = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      results.add(
          extend(grant, grant.claim().ttl()).isPresent()
              ? new Renewal.Renewed(grant.claim().ttl())
              : new Renewal.Lost());
    }
    return results;
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) {
    return table.extend((MemoryGrant) grant, ttl, time.nanos());
  }

  @Override
  public Optional<Duration> verify(Grant grant) {
    return table.remaining((MemoryGrant) grant, time.nanos());
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) {
    return holders(key).stream().map(StoredPermit::holder).findFirst();
  }

  @Override
  public List<StoredPermit> holders(LockKey key) {
    return table.holders(key, time.nanos());
  }

  @Override
  public List<StoredHolder> readers(LockKey key) {
    return table.readers(key, time.nanos());
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) {
    return table.list(kind, namePrefix, limit, time.nanos());
  }

  @Override
  public boolean forceRelease(LockKey key, long number) {
    return table.forceRelease(key, number, time.nanos());
  }

  @Override
  public void close() {
    // The table belongs to the user.
  }

  /** A place in the queue of a name. */
  final class Waiter implements Ticket {
    final Claim claim;
    final Runnable wakeUp;

    Waiter(Claim claim, Runnable wakeUp) {
      this.claim = claim;
      this.wakeUp = wakeUp;
    }

    /** The time to the next poll if no wake-up comes, since the end of a TTL wakes nobody. */
    private Duration recheckAfter() {
      return table.takenFor(claim.key(), time.nanos()).plus(RECHECK_SLACK);
    }

    @Override
    public Status poll() {
      MemoryGrant grant = table.poll(this, time.nanos(), time.wallMillis());
      return grant == null ? new Waiting(recheckAfter()) : new Granted(grant);
    }

    @Override
    public Optional<String> holder() {
      return inspect(claim.key()).map(StoredHolder::description);
    }

    @Override
    public void close() {
      table.leave(this, time.nanos());
    }
  }
}
