package io.holdfast.lock.tck.broken;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Passes everything on. A bug overrides the method that it is in. */
class StoreDecorator implements LockStore {
  final LockStore store;

  StoreDecorator(LockStore store) {
    this.store = store;
  }

  @Override
  public void checkOptions(LockOptions options) {
    store.checkOptions(options);
  }

  @Override
  public void checkKind(LockKind kind) {
    store.checkKind(kind);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return store.tryAcquire(claim);
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return store.acquireOrQueue(claim, wakeUp);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    return store.release(grant, holdFor);
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    store.withdraw(claim);
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return store.renewalGroup(grant);
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return store.renew(grants);
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return store.extend(grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return store.verify(grant);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return store.inspect(key);
  }

  @Override
  public List<StoredHolder> holders(LockKey key) throws StoreException {
    return store.holders(key);
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return store.list(kind, namePrefix, limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return store.forceRelease(key, number);
  }

  @Override
  public void close() {
    store.close();
  }

  /** A ticket that passes everything on. */
  static class TicketDecorator implements Ticket {
    final Ticket ticket;

    TicketDecorator(Ticket ticket) {
      this.ticket = ticket;
    }

    @Override
    public Status poll() throws StoreException {
      return ticket.poll();
    }

    @Override
    public Optional<String> holder() {
      return ticket.holder();
    }

    @Override
    public void close() throws StoreException {
      ticket.close();
    }
  }
}
