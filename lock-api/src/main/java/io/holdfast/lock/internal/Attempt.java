package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.EngineClient.Outcome;
import io.holdfast.lock.internal.Standing.Phase;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call that wants a lock: it enters the local line, asks the store when it is its turn, and
 * waits in the store's line. Used by one thread, once.
 *
 * <p>Whoever asks the store is the line's talker, and every way out of here passes that on.
 */
final class Attempt {
  private static final Logger log = LoggerFactory.getLogger(Attempt.class);

  private final EngineClient client;
  private final LockKey key;
  private final LockOptions options;
  private final Patience patience;
  private final Events.Asking asking;
  private final LockStore store;
  private final TimeSource time;
  private final Thread thread = Thread.currentThread();

  /** An interrupt that the caller finds again afterwards. */
  private boolean interrupted;

  private @Nullable String holder;

  Attempt(
      EngineClient client,
      LockKey key,
      LockOptions options,
      Patience patience,
      Events.Asking asking) {
    this.client = client;
    this.key = key;
    this.options = options;
    this.patience = patience;
    this.asking = asking;
    this.store = client.store();
    this.time = client.time();
  }

  /** A handle, and where it came from. */
  private record Got(Handle handle, Source source) {}

  Outcome run() throws InterruptedException {
    noteInterrupt();
    Line line = client.lines().use(key);
    boolean holds = false;
    try {
      if (client.isClosed()) {
        throw closed();
      }
      Got got = enter(line);
      if (got == null) {
        return new Outcome(null, asking.waited(), holder);
      }
      // Its hold keeps the line in use; a nested handle shares that of the outer one.
      holds = got.source() != Source.REENTRANT;
      LeaseHandle lease = new LeaseHandle(client, got.handle());
      client.keeper().watch(lease, got.handle());
      asking.acquired(lease.token(), got.source());
      return new Outcome(lease, asking.waited(), null);
    } finally {
      if (!holds) {
        client.lines().leave(line);
      }
      if (interrupted) {
        thread.interrupt();
      }
    }
  }

  private @Nullable Got enter(Line line) throws InterruptedException {
    while (true) {
      Line.Entry entry = line.enter(thread, options, patience.waits(), time.nanos());
      if (entry instanceof Line.AskStore) {
        return askStore(line);
      } else if (entry instanceof Line.Reentered reentered) {
        return reenter(reentered.handle());
      } else if (entry instanceof Line.Taken taken) {
        holder = taken.holder();
        return null;
      } else if (entry instanceof Line.Closed) {
        throw closed();
      } else if (entry instanceof Line.InLine inLine) {
        if (inLine.behindItself()) {
          warnOfSelfWait();
        }
        Waiter.News news = awaitNews(line, inLine.waiter());
        if (news == null) {
          return null;
        } else if (news instanceof Waiter.YourTurn) {
          return askStore(line);
        } else if (news instanceof Waiter.StoreFailed failed) {
          throw EngineClient.failure(key, failed.failure());
        } else if (news instanceof Waiter.ClientClosed) {
          throw closed();
        } else if (news instanceof Waiter.HandedOn handedOn) {
          if (handedOn.handle().isHeld()) {
            return new Got(handedOn.handle(), Source.LOCAL_HAND_OFF);
          }
          // Lost on the way from one thread to the other: stand in line again.
          client.abandon(handedOn.handle());
        }
      }
    }
  }

  private Got reenter(Handle handle) {
    Tenure tenure = handle.hold().tenure();
    boolean stands = tenure.stands();
    try {
      // Doubt because of the wall clock is settled by the store.
      stands = stands || (tenure.standing().phase() == Phase.SUSPECT && client.verify(tenure));
    } finally {
      if (!stands) {
        client.abandon(handle);
      }
    }
    if (!stands) {
      LeaseLoss.Reason reason = tenure.standing().lostBy();
      throw new LockLostException(
          key.name(), handle.hold().token(), reason == null ? LeaseLoss.Reason.EXPIRED : reason);
    }
    return new Got(handle, Source.REENTRANT);
  }

  private void warnOfSelfWait() {
    log.warn(
        "Thread '{}' waits for lock '{}', whose open lease it acquired itself; if it is the one that"
            + " is to close that lease, it waits for ever",
        thread.getName(),
        key.name());
    client.events().waitsForItself(key.name());
  }

  /** Waits in the local line; null: the time ran out. */
  private Waiter.@Nullable News awaitNews(Line line, Waiter waiter) throws InterruptedException {
    long graceEndsNanos = patience.untilNanos() + client.storeTimeoutNanos();
    while (true) {
      Waiter.News news = waiter.news();
      if (news != null) {
        return news;
      }
      long nowNanos = time.nanos();
      long leftNanos = patience.untilNanos() - nowNanos;
      if (leftNanos <= 0) {
        // While the thread ahead has no answer from the store, we cannot say that the lock is
        // taken.
        boolean grace = graceEndsNanos - nowNanos > 0;
        Line.Leaving leaving = grace ? line.leaveIfAnswered(waiter) : line.leave(waiter);
        if (leaving.left()) {
          holder = leaving.holder();
          return null;
        }
        leftNanos = graceEndsNanos - nowNanos;
      }
      if (waiter.news() == null) {
        time.park(this, Math.max(1, leftNanos));
      }
      if (Thread.interrupted()) {
        if (patience.interruptible()) {
          giveUp(line, waiter);
          throw new InterruptedException();
        }
        interrupted = true;
      }
    }
  }

  private void giveUp(Line line, Waiter waiter) {
    if (line.leave(waiter).left()) {
      return;
    }
    Waiter.News news = waiter.news();
    if (news instanceof Waiter.YourTurn) {
      line.doneTalking();
    } else if (news instanceof Waiter.HandedOn handedOn) {
      client.abandon(handedOn.handle());
    }
  }

  /** As the line's talker, which it no longer is on return; null: the lock is taken. */
  private @Nullable Got askStore(Line line) throws InterruptedException {
    boolean settled = false;
    try {
      Got got = ask(line);
      // A grant made the talker the holder.
      settled = got != null;
      return got;
    } catch (StoreException e) {
      settled = true;
      if (patience.interruptible() && Thread.interrupted()) {
        // Drivers and pools fail when they are interrupted; that says nothing about the store.
        line.doneTalking();
        InterruptedException interruptedException = new InterruptedException();
        interruptedException.addSuppressed(e);
        throw interruptedException;
      }
      line.storeFailed(e);
      throw EngineClient.failure(key, e);
    } finally {
      if (!settled) {
        line.doneTalking();
      }
    }
  }

  private @Nullable Got ask(Line line) throws StoreException, InterruptedException {
    while (true) {
      Claim claim = client.claims().next(key, options);
      long sentAtNanos = time.nanos();
      Grant grant;
      if (patience.waits() && patience.untilNanos() - sentAtNanos > 0) {
        Wake wake = new Wake();
        Acquisition acquisition = call(claim, () -> store.acquireOrQueue(claim, wake));
        if (acquisition instanceof Acquisition.Queued queued) {
          InStoreLine place = new InStoreLine(line, claim, queued.ticket(), wake);
          Ticket.Status status = place.await(queued.recheckAfter());
          if (status instanceof Ticket.Waiting) {
            return null;
          } else if (status instanceof Ticket.Granted granted) {
            grant = granted.grant();
            sentAtNanos = place.askedAtNanos;
          } else {
            continue;
          }
        } else {
          grant = ((Acquisition.Granted) acquisition).grant();
        }
      } else {
        grant = call(claim, () -> store.tryAcquire(claim)).orElse(null);
        if (grant == null) {
          return null;
        }
      }
      Handle handle = granted(line, grant, sentAtNanos);
      if (handle != null) {
        return new Got(handle, Source.STORE);
      }
    }
  }

  /** Null: the grant had lapsed before it arrived, and is given back; ask again. */
  private @Nullable Handle granted(Line line, Grant grant, long sentAtNanos)
      throws StoreException, InterruptedException {
    Tenure tenure = new Tenure(grant, options, line, sentAtNanos, time, client);
    if (tenure.standing().isPast(time.nanos())) {
      client.aftermath().release(grant, Duration.ZERO);
      if (patience.waits() && patience.untilNanos() - time.nanos() > 0) {
        return null;
      }
      throw StoreException.refused(
          "It took longer to answer than the lease lasts (" + options.ttl() + ")", null);
    }
    if (patience.interruptible() && Thread.interrupted()) {
      client.giveBack(grant);
      throw new InterruptedException();
    }
    client.keeper().keep(tenure);
    Handle handle = line.granted(tenure, thread, time.nanos());
    if (handle == null) {
      client.keeper().forget(tenure);
      client.giveBack(grant);
      throw closed();
    }
    return handle;
  }

  private interface Call<T> {
    T run() throws StoreException;
  }

  /** A call whose outcome, if it is not known, is withdrawn. */
  private <T> T call(Claim claim, Call<T> call) throws StoreException {
    try {
      return call.run();
    } catch (StoreException e) {
      if (e.mayHaveHappened()) {
        client.aftermath().withdraw(claim);
      }
      throw e;
    } catch (RuntimeException e) {
      client.aftermath().withdraw(claim);
      throw StoreException.unanswered("The store failed: " + e, e);
    } catch (Error e) {
      client.aftermath().withdraw(claim);
      throw e;
    }
  }

  private void noteInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      if (patience.interruptible()) {
        throw new InterruptedException();
      }
      interrupted = true;
    }
  }

  private LockClientClosedException closed() {
    return new LockClientClosedException(key.name());
  }

  /** What a store runs when something may have changed. */
  private final class Wake implements Runnable {
    private volatile boolean rung;

    @Override
    public void run() {
      rung = true;
      LockSupport.unpark(thread);
    }
  }

  /** The wait in the store's line. */
  private final class InStoreLine {
    private final Line line;
    private final Claim claim;
    private final Ticket ticket;
    private final Wake wake;

    /** The clock before the last question. */
    private long askedAtNanos;

    InStoreLine(Line line, Claim claim, Ticket ticket, Wake wake) {
      this.line = line;
      this.claim = claim;
      this.ticket = ticket;
      this.wake = wake;
    }

    /** Granted, gone, or still waiting when the time ran out. Has left the line in any case. */
    Ticket.Status await(Duration recheckAfter) throws StoreException, InterruptedException {
      long recheckAtNanos = time.nanos() + Nanos.of(recheckAfter);
      while (true) {
        line.talkerWaits(wake);
        awaitWake(recheckAtNanos);
        askedAtNanos = time.nanos();
        // Asked once more at the end: a store that does not answer must not look like a taken lock.
        boolean last = patience.untilNanos() - askedAtNanos <= 0;
        wake.rung = false;
        line.talkerAsks();
        Ticket.Status status = poll();
        if (!(status instanceof Ticket.Waiting waiting)) {
          return status;
        }
        if (last) {
          holder = ticket.holder().orElse(null);
          leave();
          return status;
        }
        recheckAtNanos = time.nanos() + Nanos.of(waiting.recheckAfter());
      }
    }

    private void awaitWake(long recheckAtNanos) throws InterruptedException {
      while (true) {
        if (client.isClosed()) {
          leave();
          throw closed();
        }
        if (Thread.interrupted()) {
          if (patience.interruptible()) {
            leave();
            throw new InterruptedException();
          }
          interrupted = true;
        }
        long nowNanos = time.nanos();
        long leftNanos = Math.min(recheckAtNanos - nowNanos, patience.untilNanos() - nowNanos);
        if (wake.rung || leftNanos <= 0) {
          return;
        }
        time.park(this, leftNanos);
      }
    }

    private Ticket.Status poll() throws StoreException {
      try {
        return call(claim, ticket::poll);
      } catch (StoreException e) {
        client.aftermath().leave(ticket, claim);
        throw e;
      }
    }

    private void leave() {
      try {
        ticket.close();
      } catch (StoreException | RuntimeException e) {
        log.debug(
            "The line of lock '{}' could not be left; again in the background", key.name(), e);
        client.aftermath().withdraw(claim);
      }
    }
  }
}
