package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
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
import java.util.Optional;
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

  /** A store that answers within this part of its timeout is not slow. */
  private static final int PROMPT_DIVISOR = 10;

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

  /**
   * Whether {@link Lines#leave} is still to be called: a hold that comes from the store takes over.
   */
  private boolean usesLine;

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
    usesLine = true;
    try {
      requireOpen();
      Got got = enter(line);
      if (got == null) {
        return new Outcome(null, asking.waited(), holder);
      }
      return new Outcome(lease(got), asking.waited(), null);
    } finally {
      if (usesLine) {
        client.lines().leave(line);
      }
      if (interrupted) {
        thread.interrupt();
      }
    }
  }

  private LeaseHandle lease(Got got) {
    boolean seen = false;
    try {
      if (got.source() == Source.STORE) {
        client.keeper().keep(got.handle().hold().tenure());
      }
      LeaseHandle lease = new LeaseHandle(client, got.handle());
      client.keeper().watch(lease, got.handle());
      asking.acquired(lease.token(), got.source());
      seen = true;
      return lease;
    } finally {
      if (!seen) {
        client.abandon(got.handle());
      }
    }
  }

  private @Nullable Got enter(Line line) throws InterruptedException {
    while (true) {
      Line.Entry entry = line.enter(thread, options, patience.waits());
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
        if (news instanceof Waiter.YourTurn) {
          return askStore(line);
        } else if (news instanceof Waiter.TimeIsUp timeIsUp) {
          holder = timeIsUp.holder();
          return null;
        } else if (news instanceof Waiter.StoreFailed failed) {
          throw EngineClient.failure(key, failed.failure());
        } else if (news instanceof Waiter.ClientClosed) {
          throw closed();
        } else if (news instanceof Waiter.HandedOn handedOn) {
          Handle handle = handedOn.handle();
          if (patience.interruptible() && Thread.interrupted()) {
            client.abandon(handle);
            throw new InterruptedException();
          }
          if (handle.isHeld() && line.take(handle)) {
            return new Got(handle, Source.LOCAL_HAND_OFF);
          }
          // Lost on the way from one thread to the other: stand in line again.
          client.abandon(handle);
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

  /** Waits in the local line. */
  private Waiter.News awaitNews(Line line, Waiter waiter) throws InterruptedException {
    long graceEndsNanos = patience.untilNanos() + client.storeTimeoutNanos();
    while (true) {
      Waiter.News news = waiter.news();
      if (news != null) {
        return news;
      }
      long nowNanos = time.nanos();
      long leftNanos = patience.untilNanos() - nowNanos;
      if (leftNanos <= 0) {
        line.timeIsUp(waiter);
        leftNanos = graceEndsNanos - nowNanos;
        if (leftNanos <= 0 && line.leave(waiter)) {
          return new Waiter.StoreFailed(StoreException.unanswered(
              "The thread ahead has no answer within the store timeout", null));
        }
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
    if (line.leave(waiter)) {
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
    // What those are told who have no time left to ask for themselves.
    StoreException failure = null;
    boolean settled = false;
    try {
      while (true) {
        try {
          Handle handle = ask(line);
          // A grant made the talker the holder.
          settled = handle != null;
          return handle == null ? null : new Got(handle, Source.STORE);
        } catch (StoreException e) {
          failure = e;
          if (!Thread.interrupted()) {
            settled = true;
            line.storeFailed(e);
            throw EngineClient.failure(key, e);
          }
          // Drivers and pools fail when they are interrupted; that says nothing about the store.
          if (patience.interruptible()) {
            InterruptedException interruptedException = new InterruptedException();
            interruptedException.addSuppressed(e);
            throw interruptedException;
          }
          interrupted = true;
          if (!patience.waits()) {
            throw EngineClient.failure(key, e);
          }
        }
      }
    } catch (Error e) {
      failure = StoreException.unanswered("The store failed: " + e, e);
      throw e;
    } finally {
      if (!settled) {
        if (failure == null) {
          line.doneTalking();
        } else {
          line.brokeOff(failure);
        }
      }
    }
  }

  private @Nullable Handle ask(Line line) throws StoreException, InterruptedException {
    while (true) {
      requireOpen();
      Claim claim = client.claims().next(key, options);
      Moment asked = Moment.now(time);
      boolean confirmed = true;
      Grant grant;
      if (patience.waits() && patience.untilNanos() - asked.nanos() > 0) {
        Wake wake = new Wake();
        Acquisition acquisition = call(claim, () -> store.acquireOrQueue(claim, wake));
        if (acquisition instanceof Acquisition.Queued queued) {
          InStoreLine place = new InStoreLine(line, claim, asked, queued.ticket(), wake);
          Ticket.Status status = place.await(queued.recheckAfter());
          if (status instanceof Ticket.Waiting) {
            return null;
          } else if (status instanceof Ticket.Granted granted) {
            grant = granted.grant();
            asked = place.asked;
            confirmed = !place.handedOver;
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
      Handle handle = granted(line, grant, asked, confirmed);
      if (handle != null) {
        return handle;
      }
    }
  }

  /** Null: the grant had lapsed before it arrived, and is given back; ask again. */
  private @Nullable Handle granted(Line line, Grant grant, Moment asked, boolean confirmed)
      throws InterruptedException {
    if (patience.interruptible() && Thread.interrupted()) {
      client.giveBack(grant);
      throw new InterruptedException();
    }
    Tenure.Lapse lapse;
    Handle handle = null;
    try {
      Tenure tenure = new Tenure(grant, options, line, asked, time, client);
      if (!confirmed) {
        tenure.renewal().unconfirmed();
      }
      lapse = tenure.lapse();
      if (lapse == Tenure.Lapse.NONE) {
        handle = line.granted(tenure, thread);
      }
    } catch (RuntimeException e) {
      client.giveBack(grant);
      throw unusable("The store gave what is no grant: " + e.getMessage(), e);
    } catch (Error e) {
      client.giveBack(grant);
      throw e;
    }
    if (handle != null) {
      usesLine = false;
      return handle;
    } else if (lapse == Tenure.Lapse.NONE) {
      client.giveBack(grant);
      throw closed();
    }
    client.aftermath().release(grant, Duration.ZERO);
    if (lapse == Tenure.Lapse.MAX_HOLD) {
      throw unusable("It took longer to answer than maxHold is", null);
    } else if (!patience.waits() || patience.untilNanos() - time.nanos() <= 0) {
      throw unusable("It took longer to answer than the lease lasts: " + options.ttl(), null);
    }
    return null;
  }

  private LockStoreException unusable(String message, @Nullable Throwable cause) {
    return EngineClient.failure(key, StoreException.refused(message, cause));
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

  private void requireOpen() {
    if (client.isClosed()) {
      throw closed();
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

    /** Before the last question. */
    private Moment asked;

    /** Granted without a question. */
    private boolean handedOver;

    InStoreLine(Line line, Claim claim, Moment asked, Ticket ticket, Wake wake) {
      this.line = line;
      this.claim = claim;
      this.asked = asked;
      this.ticket = ticket;
      this.wake = wake;
    }

    /** Granted, gone, or still waiting when the time ran out. Has left the line in any case. */
    Ticket.Status await(Duration recheckAfter) throws StoreException, InterruptedException {
      Duration recheck = recheckAfter;
      while (true) {
        // Past the end, the answer that just came was the last look.
        if (patience.untilNanos() - time.nanos() <= 0) {
          holder = ticket.holder().orElse(null);
          leaveAtTheEnd();
          return new Ticket.Waiting(recheck);
        }
        line.talkerWaits(wake);
        awaitWake(time.nanos() + Nanos.of(recheck));
        Optional<Grant> grant = resolved(this::handedOver);
        if (grant.isPresent()) {
          handedOver = true;
          return new Ticket.Granted(grant.get());
        }
        asked = Moment.now(time);
        wake.rung = false;
        line.talkerAsks();
        Ticket.Status status = resolved(ticket::poll);
        if (status instanceof Ticket.Granted) {
          return status;
        } else if (status instanceof Ticket.Waiting waiting) {
          recheck = waiting.recheckAfter();
        } else {
          leave();
          return status;
        }
      }
    }

    /** A grant that the store told of by itself, if enough is left of it to start on it. */
    private Optional<Grant> handedOver() {
      // A fixed lease is to have its whole TTL, and a capped one its whole time.
      return options.isRenewed() && options.maxHold().isEmpty()
          ? ticket
              .handedOver()
              .filter(grant -> Term.of(asked, Nanos.of(grant.validFor())).isFresh(time))
          : Optional.empty();
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

    private <T> T resolved(Call<T> call) throws StoreException {
      try {
        return call(claim, call);
      } catch (StoreException | Error e) {
        client.aftermath().leave(ticket, claim);
        throw e;
      }
    }

    /** Not on the caller's time if the store is slow. */
    private void leaveAtTheEnd() {
      if (time.nanos() - patience.untilNanos() < client.storeTimeoutNanos() / PROMPT_DIVISOR) {
        leave();
      } else {
        client.aftermath().leave(ticket, claim);
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
