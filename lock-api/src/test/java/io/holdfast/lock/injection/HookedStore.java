package io.holdfast.lock.injection;

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
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A store whose every method is two calls out: before it is carried out, and after. */
final class HookedStore implements PermitStore {
  /** Carries a call out. */
  private interface Call<T> {
    T run() throws StoreException;
  }

  private final CallsOut calls;
  private final PermitStore store;

  HookedStore(CallsOut calls, PermitStore store) {
    this.calls = calls;
    this.store = store;
  }

  private <T> T around(String method, Call<T> call) throws StoreException {
    calls.at(method);
    T answer = call.run();
    calls.at(method + ", done");
    return answer;
  }

  @Override
  public void checkOptions(LockOptions options) {
    calls.at("LockStore.checkOptions");
    store.checkOptions(options);
    calls.at("LockStore.checkOptions, done");
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return around("LockStore.tryAcquire", () -> store.tryAcquire(claim));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return around("LockStore.acquireOrQueue", () -> {
      Acquisition acquisition = store.acquireOrQueue(claim, wakeUp);
      return acquisition instanceof Acquisition.Queued queued
          ? new Acquisition.Queued(new HookedTicket(queued.ticket()), queued.recheckAfter())
          : acquisition;
    });
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    return around("LockStore.release", () -> store.release(grant, holdFor));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    boolean unused = around("LockStore.withdraw", () -> {
      store.withdraw(claim);
      return true;
    });
  }

  @Override
  public Object renewalGroup(Grant grant) {
    calls.at("LockStore.renewalGroup");
    Object group = store.renewalGroup(grant);
    calls.at("LockStore.renewalGroup, done");
    return group;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return around("LockStore.renew", () -> store.renew(grants));
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return around("LockStore.extend", () -> store.extend(grant, ttl));
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return around("LockStore.verify", () -> store.verify(grant));
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return around("LockStore.verifyAll", () -> store.verifyAll(grants));
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return around("LockStore.inspect", () -> store.inspect(key));
  }

  @Override
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return around("PermitStore.holders", () -> store.holders(key));
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return around("LockStore.list", () -> store.list(kind, namePrefix, limit));
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return around("LockStore.forceRelease", () -> store.forceRelease(key, number));
  }

  @Override
  public void close() {
    calls.at("LockStore.close");
    store.close();
    calls.at("LockStore.close, done");
  }

  private final class HookedTicket implements Ticket {
    private final Ticket ticket;

    HookedTicket(Ticket ticket) {
      this.ticket = ticket;
    }

    @Override
    public Status poll() throws StoreException {
      return around("Ticket.poll", ticket::poll);
    }

    @Override
    public Optional<Grant> handedOver() {
      calls.at("Ticket.handedOver");
      Optional<Grant> grant = ticket.handedOver();
      calls.at("Ticket.handedOver, done");
      return grant;
    }

    @Override
    public Optional<String> holder() {
      calls.at("Ticket.holder");
      Optional<String> holder = ticket.holder();
      calls.at("Ticket.holder, done");
      return holder;
    }

    @Override
    public void close() throws StoreException {
      boolean unused = around("Ticket.close", () -> {
        ticket.close();
        return true;
      });
    }
  }
}
