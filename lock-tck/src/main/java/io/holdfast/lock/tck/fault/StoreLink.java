package io.holdfast.lock.tck.fault;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A link with faults for a store without a network: every call to the store is a request, and its
 * result is the reply. A call whose reply does not come in time ends with
 * {@link StoreException#unanswered}; its request may still arrive later.
 */
public final class StoreLink extends FaultLink implements Link {
  /**
   * The number of cuts so far, guarded by the lock: a call that waits for its reply ends when the
   * number rises.
   */
  private long cuts;

  /** Makes a link without faults. */
  public StoreLink() {}

  /** Returns the store as seen through this link; its calls end after {@code storeTimeout}. */
  public LockStore through(LockStore store, Duration storeTimeout) {
    long timeoutNanos = storeTimeout.toNanos();
    if (store instanceof PermitStore permits) {
      return new LinkedPermitStore(permits, timeoutNanos);
    }
    return store instanceof ReadWriteStore readWrite
        ? new LinkedReadWriteStore(readWrite, timeoutNanos)
        : new LinkedStore(store, timeoutNanos);
  }

  @Override
  public void cut() {
    change(() -> cuts++);
  }

  @Override
  public void refuse() {
    change(() -> {
      refusing = true;
      cuts++;
    });
  }

  @Override
  public void heal() {
    change(() -> {
      cuts += blackhole ? 1 : 0;
      forgetFaults();
    });
  }

  @Override
  public void close() {
    refuse();
    closeResources();
  }

  private boolean isSilent() {
    return locked(() -> blackhole || refusing || held.contains(Direction.REPLIES));
  }

  /** The action of a call at the store. */
  @FunctionalInterface
  private interface Request<T> {
    T run() throws StoreException;
  }

  /** A request, and its result. */
  private static final class Exchange<T> {
    private @Nullable T result;
    private @Nullable StoreException refusal;
    private @Nullable RuntimeException failure;
    private long doneNanos;
    private boolean done;

    void carryOut(Request<T> request) {
      try {
        result = request.run();
      } catch (StoreException e) {
        refusal = e;
      } catch (RuntimeException e) {
        failure = e;
      }
      doneNanos = System.nanoTime();
    }

    @SuppressWarnings("NullAway") // the result is there if nothing was thrown
    T get() throws StoreException {
      if (refusal != null) {
        throw refusal;
      }
      if (failure != null) {
        throw failure;
      }
      return result;
    }
  }

  /** The store as the client sees it. */
  private class LinkedStore implements LockStore {
    private final LockStore store;
    private final long timeoutNanos;

    LinkedStore(LockStore store, long timeoutNanos) {
      this.store = store;
      this.timeoutNanos = timeoutNanos;
    }

    final <T> T call(Request<T> request) throws StoreException {
      long sentNanos = System.nanoTime();
      Exchange<T> exchange = new Exchange<>();
      boolean direct;
      boolean dropped;
      long cutsBefore;
      lock.lock();
      try {
        requests++;
        if (refusing) {
          throw StoreException.refused("The link refuses connections", null);
        }
        dropped = repliesToDrop > 0 && --repliesToDrop == 0;
        direct =
            !blackhole && !held.contains(Direction.REQUESTS) && delayNanos(Direction.REQUESTS) == 0;
        cutsBefore = cuts;
        if (!direct && !blackhole) {
          Thread late = new Thread(() -> deliver(exchange, request, sentNanos), "store-link-late");
          late.setDaemon(true);
          late.start();
        }
      } finally {
        lock.unlock();
      }
      if (direct) {
        exchange.carryOut(request);
        change(() -> exchange.done = true);
      }
      awaitReply(exchange, sentNanos, cutsBefore);
      if (dropped) {
        throw StoreException.unanswered("The link dropped the reply", null);
      }
      return exchange.get();
    }

    private void awaitReply(Exchange<?> exchange, long sentNanos, long cutsBefore)
        throws StoreException {
      boolean interrupted = false;
      lock.lock();
      try {
        while (true) {
          long now = System.nanoTime();
          long leftNanos = timeoutNanos - (now - sentNanos);
          if (exchange.done && !blackhole && !held.contains(Direction.REPLIES)) {
            long delayLeftNanos = exchange.doneNanos + delayNanos(Direction.REPLIES) - now;
            if (delayLeftNanos <= 0) {
              return;
            }
            leftNanos = leftNanos <= 0 ? leftNanos : Math.min(leftNanos, delayLeftNanos);
          }
          if (leftNanos <= 0) {
            throw StoreException.unanswered("The link gave no reply in time", null);
          }
          if (cuts != cutsBefore) {
            throw StoreException.unanswered("The link was cut", null);
          }
          try {
            leftNanos = changed.awaitNanos(leftNanos);
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
      } finally {
        lock.unlock();
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    private <T> void deliver(Exchange<T> exchange, Request<T> request, long sentNanos) {
      lock.lock();
      try {
        while (true) {
          long waitNanos = sentNanos + delayNanos(Direction.REQUESTS) - System.nanoTime();
          if (held.contains(Direction.REQUESTS)) {
            changed.await();
          } else if (waitNanos > 0) {
            boolean unused = changed.await(waitNanos, TimeUnit.NANOSECONDS);
          } else {
            break;
          }
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException("Nobody interrupts threads of the link", e);
      } finally {
        lock.unlock();
      }
      exchange.carryOut(request);
      change(() -> exchange.done = true);
    }

    @Override
    public void checkOptions(LockOptions options) {
      store.checkOptions(options);
    }

    @Override
    public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
      return call(() -> store.tryAcquire(claim));
    }

    @Override
    public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
      Runnable heardWakeUp = () -> {
        if (!isSilent()) {
          wakeUp.run();
        }
      };
      Acquisition acquisition = call(() -> store.acquireOrQueue(claim, heardWakeUp));
      return acquisition instanceof Acquisition.Queued queued
          ? new Acquisition.Queued(new LinkedTicket(queued.ticket()), queued.recheckAfter())
          : acquisition;
    }

    @Override
    public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
      return call(() -> store.release(grant, holdFor));
    }

    @Override
    public void withdraw(Claim claim) throws StoreException {
      boolean unused = call(() -> {
        store.withdraw(claim);
        return true;
      });
    }

    @Override
    public Object renewalGroup(Grant grant) {
      return store.renewalGroup(grant);
    }

    @Override
    public List<Renewal> renew(List<Grant> grants) throws StoreException {
      List<Grant> copy = new ArrayList<>(grants);
      return call(() -> store.renew(copy));
    }

    @Override
    public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
      return call(() -> store.extend(grant, ttl));
    }

    @Override
    public Optional<Duration> verify(Grant grant) throws StoreException {
      return call(() -> store.verify(grant));
    }

    @Override
    public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
      List<Grant> copy = new ArrayList<>(grants);
      return call(() -> store.verifyAll(copy));
    }

    @Override
    public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
      return call(() -> store.inspect(key));
    }

    @Override
    public List<StoredLock> list(LockKind kind, String namePrefix, int limit)
        throws StoreException {
      return call(() -> store.list(kind, namePrefix, limit));
    }

    @Override
    public boolean forceRelease(LockKey key, long number) throws StoreException {
      return call(() -> store.forceRelease(key, number));
    }

    @Override
    public void close() {
      store.close();
    }

    /** A ticket as the client sees it. */
    private final class LinkedTicket implements Ticket {
      private final Ticket ticket;

      LinkedTicket(Ticket ticket) {
        this.ticket = ticket;
      }

      @Override
      public Status poll() throws StoreException {
        return call(ticket::poll);
      }

      @Override
      public Optional<Grant> handedOver() {
        return isSilent() ? Optional.empty() : ticket.handedOver();
      }

      @Override
      public Optional<String> holder() {
        return ticket.holder();
      }

      @Override
      public void close() throws StoreException {
        boolean unused = call(() -> {
          ticket.close();
          return true;
        });
      }
    }
  }

  /** The store as the client sees it, if it has read-write locks. */
  private class LinkedReadWriteStore extends LinkedStore implements ReadWriteStore {
    private final ReadWriteStore readWrite;

    LinkedReadWriteStore(ReadWriteStore store, long timeoutNanos) {
      super(store, timeoutNanos);
      this.readWrite = store;
    }

    @Override
    public List<StoredHolder> readers(LockKey key) throws StoreException {
      return call(() -> readWrite.readers(key));
    }
  }

  /** The store as the client sees it, if it has semaphores, too. */
  private final class LinkedPermitStore extends LinkedReadWriteStore implements PermitStore {
    private final PermitStore permits;

    LinkedPermitStore(PermitStore store, long timeoutNanos) {
      super(store, timeoutNanos);
      this.permits = store;
    }

    @Override
    public List<StoredPermit> holders(LockKey key) throws StoreException {
      return call(() -> permits.holders(key));
    }
  }
}
